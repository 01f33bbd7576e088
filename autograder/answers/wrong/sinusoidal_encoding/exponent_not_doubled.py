# mistake: the exponent lacks its 2: pair i has the rate base^(−2i/d_model)
# hint: either 2·i for pair number i, or the number of the even column as it is
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    exponent = torch.arange((d_model + 1) // 2, dtype=torch.float64) / d_model
    angle = position / base ** exponent
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d_model // 2]
    return pe.float()
