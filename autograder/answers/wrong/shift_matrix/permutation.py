# mistake: rows are moved, as if positions were the dimension to shift
# hint: the matrix mixes columns of the encoding (d_model × d_model), not positions
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    return torch.roll(torch.eye(d_model), offset, 0)
