# mistake: cosines stand in even columns and sines in odd ones
# hint: even columns (0, 2, …) hold the sine, odd ones the cosine
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angle = position / base ** exponent
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.cos(angle)
    pe[:, 1::2] = torch.sin(angle)[:, : d_model // 2]
    return pe.float()
