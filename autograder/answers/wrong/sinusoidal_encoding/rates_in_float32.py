# mistake: the rates are computed in float32: a large position multiplies their rounding error
# hint: make the exponent and the power in float64 too, not only the product with the position
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    exponent = torch.arange(0, d_model, 2).float() / d_model
    angle = position / (torch.tensor(float(base)) ** exponent).double()
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d_model // 2]
    return pe.float()
