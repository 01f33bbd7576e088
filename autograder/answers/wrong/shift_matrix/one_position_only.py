# mistake: the matrix is right for one position only
# hint: it has to hold for every p: build it from the angle sums, where p drops out
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    column = torch.arange(d_model)
    angle = offset / base ** ((column - column % 2).double() / d_model)
    target = torch.where(column % 2 == 0, angle.sin(), angle.cos())
    start = (column % 2).double()
    return (torch.outer(target, start) / start.dot(start)).float()
