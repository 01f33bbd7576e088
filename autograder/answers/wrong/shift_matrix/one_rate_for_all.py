# mistake: every pair turns by the same angle
# hint: each pair of columns has its own rate, base^(−column / d_model)
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("no such matrix exists for odd d_model")
    blocks = []
    for column in range(0, d_model, 2):
        rate = 1.0
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
