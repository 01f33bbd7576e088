import torch

def softmax_jacobian(p):
    """To first order softmax is linear: the slope of dp = p * (dx - sum(p * dx)), taken by autograd."""
    n = p.shape[-1]
    flat = p.reshape(-1, n)
    slopes = []
    for row in flat:
        step = torch.zeros(n, dtype=p.dtype, device=p.device)
        linear = lambda dx, row=row: row * (dx - (row * dx).sum())
        slopes.append(torch.autograd.functional.jacobian(linear, step, create_graph=True))
    return torch.stack(slopes).reshape(*p.shape, n)
