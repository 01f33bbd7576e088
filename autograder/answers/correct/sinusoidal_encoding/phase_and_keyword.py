import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0, *, dtype=torch.float32):
    c = torch.arange(d_model, dtype=torch.float64)
    omega = torch.pow(torch.tensor(base, dtype=torch.float64), -(c - c.remainder(2)) / d_model)
    return torch.einsum("t,c->tc", torch.arange(T, dtype=torch.float64), omega).add(c.remainder(2) * math.pi / 2).sin().to(dtype)
