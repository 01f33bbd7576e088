# mistake: the signs of the sines are exchanged, so the matrix shifts backwards
# hint: sin(a + b) = sin a cos b + cos a sin b: in the upper row of a block both signs are plus
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
        blocks.append(torch.tensor([[c, -s], [s, c]]))
    return torch.block_diag(*blocks)
