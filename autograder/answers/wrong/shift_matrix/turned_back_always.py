# mistake: only the size of the offset counts: negative offsets shift forwards
# hint: use the offset with its sign; sine is odd, so its sign does the rest
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("no such matrix exists for odd d_model")
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = abs(offset) * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
