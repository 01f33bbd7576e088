import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model & 1:
        raise ValueError
    column = torch.arange(d_model)
    angle = offset / base ** ((column - column % 2).double() / d_model)
    sines = torch.where(column[:-1] % 2 == 0, angle[:-1].sin(), 0.0)
    return torch.diag(angle.cos()) + torch.diag(sines, 1) - torch.diag(sines, -1)
