import numpy as np
import torch

def sinusoidal_encoding(T: int, d_model: int, base: float = 10_000.0):
    column = np.arange(d_model)
    angles = np.arange(T)[:, None] * np.power(float(base), -(column - column % 2) / d_model)
    table = np.where(column % 2 == 0, np.sin(angles), np.cos(angles))
    return torch.from_numpy(table.astype(np.float32))
