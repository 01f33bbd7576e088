import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    pe = torch.zeros(T, d_model)
    for p in range(T):
        for i in range(0, d_model, 2):
            angle = p / base ** (i / d_model)
            pe[p, i] = math.sin(angle)
            if i + 1 < d_model:
                pe[p, i + 1] = math.cos(angle)
    return pe
