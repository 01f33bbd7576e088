# mistake: the blocks are returned one by one
# hint: set them along the diagonal of one (d_model, d_model) matrix
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("no such matrix exists for odd d_model")
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.stack(blocks)
