# mistake: the matrix is made for sines on the left and cosines on the right
# hint: pairs are neighbours: columns 2i and 2i + 1
import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    angle = offset * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    c, s = torch.diag(angle.cos()), torch.diag(angle.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)], 0).float()
