# mistake: each column is scaled by itself
# hint: a wave isn't shifted by a factor: sine and cosine of a pair have to be mixed
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    column = torch.arange(d_model)
    angle = offset / base ** ((column - column % 2).double() / d_model)
    return torch.diag(torch.where(column % 2 == 0, angle.sin(), angle.cos())).float()
