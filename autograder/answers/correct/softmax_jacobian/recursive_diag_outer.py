import torch

def softmax_jacobian(p):
    if p.dim() > 1:
        return torch.stack([softmax_jacobian(part) for part in p])
    return torch.diag(p) - torch.outer(p, p)
