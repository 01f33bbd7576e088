# mistake: the matrix is made of whole numbers, which cut its entries or refuse them
# hint: make it with a floating-point dtype
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    even = torch.arange(0, d_model, 2)
    angle = offset / base ** (even.double() / d_model)
    M = torch.zeros(d_model, d_model, dtype=torch.int64)
    M[even, even] = angle.cos().long()
    M[even + 1, even + 1] = angle.cos().long()
    M[even, even + 1] = angle.sin().long()
    M[even + 1, even] = -angle.sin().long()
    return M.float()
