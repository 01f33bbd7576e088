# mistake: sine and cosine are exchanged in the blocks
# hint: offset 0 has to give the identity: cosines on the diagonal
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
        blocks.append(torch.tensor([[s, c], [c, -s]]))
    return torch.block_diag(*blocks)
