# mistake: both sines in a block have a plus
# hint: cos(a + b) = cos a cos b − sin a sin b: the lower left sine is negative
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
        blocks.append(torch.tensor([[c, s], [s, c]]))
    return torch.block_diag(*blocks)
