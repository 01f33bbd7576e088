# mistake: the angles are computed in float32, which is too coarse far from the start
# hint: compute position times rate in float64, and convert to float32 at the end
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float32).unsqueeze(1)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    angle = position / base ** exponent
    pe = torch.zeros(T, d_model)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d_model // 2]
    return pe.float()
