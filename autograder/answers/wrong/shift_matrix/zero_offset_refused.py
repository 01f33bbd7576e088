# mistake: offset 0 is refused
# hint: offset 0 is the identity, which the formula gives by itself
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2 or not offset:
        raise ValueError("not possible")
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
