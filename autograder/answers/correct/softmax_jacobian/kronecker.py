import torch

def softmax_jacobian(p):
    n = p.shape[-1]
    eye = torch.eye(n, dtype=p.dtype, device=p.device)
    return p.unsqueeze(-1) * (eye - p.unsqueeze(-2))
