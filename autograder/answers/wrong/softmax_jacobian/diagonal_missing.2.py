# mistake: the diagonal part is missing, only −p pᵀ is left
# hint: on the diagonal p itself is added: `torch.diag_embed(p)`
import torch

def softmax_jacobian(p):
    n = p.shape[-1]
    eye = torch.eye(n, dtype=torch.bool)
    return (-p.unsqueeze(-1) * p.unsqueeze(-2)).masked_fill(eye, 0)
