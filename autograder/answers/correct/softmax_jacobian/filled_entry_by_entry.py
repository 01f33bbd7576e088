import torch

def softmax_jacobian(p):
    n = p.shape[-1]
    jacobian = torch.zeros(*p.shape, n, dtype=p.dtype, device=p.device)
    for i in range(n):
        for j in range(n):
            delta = 1.0 if i == j else 0.0
            jacobian[..., i, j] = p[..., i] * (delta - p[..., j])
    return jacobian
