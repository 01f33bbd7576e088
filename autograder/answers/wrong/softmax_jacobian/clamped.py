# mistake: probabilities are kept away from 0 and 1, so a certain distribution seems to move
# hint: 0 and 1 are fine here: diag(p) − p pᵀ has no logarithm and no quotient
import torch

def softmax_jacobian(p):
    p = p.clamp(1e-3, 1 - 1e-3)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
