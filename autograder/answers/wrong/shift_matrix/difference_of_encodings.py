# mistake: what is returned is a vector to add, not a matrix
# hint: M @ PE[p] should be PE[p + offset] for every p: a turn, which no fixed vector can add
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    column = torch.arange(d_model)
    angle = offset / base ** ((column - column % 2).double() / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos() - 1).float()
