# mistake: the rates are spread so that the last one is 1/base
# hint: the exponent is 2i/d_model, which ends just short of 1; don't divide by the number of pairs minus one
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    exponent = torch.arange((d_model + 1) // 2, dtype=torch.float64) / max((d_model + 1) // 2 - 1, 1)
    angle = position / base ** exponent
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d_model // 2]
    return pe.float()
