# mistake: a negative offset is refused
# hint: going back is a shift too: cosine is even and sine odd, so the formula holds as it is
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2 or offset < 0:
        raise ValueError("not possible")
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
