# mistake: even widths are refused, and odd ones aren't
# hint: the remainder of an odd number is 1: refuse where `d_model % 2` isn't 0
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2 == 0:
        raise ValueError("no such matrix")
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
