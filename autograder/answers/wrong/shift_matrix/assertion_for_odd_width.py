# mistake: an odd width raises AssertionError instead of ValueError
# hint: use `if d_model % 2: raise ValueError(...)`; assertions vanish under `python -O`
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    assert d_model % 2 == 0
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
