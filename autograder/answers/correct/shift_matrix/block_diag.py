import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2 == 1:
        raise ValueError("d_model has to be even")
    blocks = []
    for column in range(0, d_model, 2):
        angle = offset * base ** (-column / d_model)
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
