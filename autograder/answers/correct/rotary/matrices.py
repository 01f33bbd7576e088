import torch

def rotary(x, positions, base=10_000.0):
    """One rotation matrix per position."""
    d = x.shape[-1]
    turned = []
    for t, p in enumerate(positions.tolist()):
        matrix = torch.zeros(d, d, dtype=torch.float64, device=x.device)
        for i in range(0, d, 2):
            angle = torch.tensor(p * base ** (-i / d), dtype=torch.float64)
            matrix[i, i] = matrix[i + 1, i + 1] = angle.cos()
            matrix[i, i + 1], matrix[i + 1, i] = -angle.sin(), angle.sin()
        turned.append(x[..., t, :] @ matrix.T.to(x.dtype))
    return torch.stack(turned, dim=-2)
