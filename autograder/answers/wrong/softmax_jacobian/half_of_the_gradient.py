# mistake: one of the two factors is detached, so the slope's own gradient is wrong
# hint: nothing in diag(p) − p pᵀ is a constant: don't detach a part of it
import torch

def softmax_jacobian(p):
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.detach().unsqueeze(-2)
