# mistake: the diagonal part is missing, only −p pᵀ is left
# hint: on the diagonal p itself is added: `torch.diag_embed(p)`
import torch

def softmax_jacobian(p):
    return -p.unsqueeze(-1) * p.unsqueeze(-2)
