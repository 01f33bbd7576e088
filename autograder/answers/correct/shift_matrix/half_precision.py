import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    angle = offset * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    c, s = angle.cos(), angle.sin()
    blocks = torch.stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2)
    return torch.block_diag(*blocks).half()
