# mistake: an odd width is accepted
# hint: raise ValueError where d_model is odd: a lone sine has no cosine to be mixed with
import math
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    blocks = []
    for column in range(0, d_model, 2):
        rate = base ** (-column / d_model)
        angle = offset * rate
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)[:d_model, :d_model]
