import torch

def softmax_jacobian(p):
    outer = torch.einsum("...i,...j->...ij", p, p)
    identity = torch.eye(p.size(-1), device=p.device).to(p)
    return torch.einsum("...i,ij->...ij", p, identity) - outer
