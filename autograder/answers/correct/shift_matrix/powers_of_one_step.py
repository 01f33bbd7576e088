import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("only even widths")
    step = torch.zeros(d_model, d_model, dtype=torch.float64)
    for c in range(0, d_model, 2):
        w = base ** (-c / d_model)
        step[c, c], step[c, c + 1] = math.cos(w), math.sin(w)
        step[c + 1, c], step[c + 1, c + 1] = -math.sin(w), math.cos(w)
    return torch.linalg.matrix_power(step, offset)
