# mistake: this is the outer product p pᵀ alone
# hint: the outer product is taken away from a diagonal matrix that holds p
import torch

def softmax_jacobian(p):
    return torch.einsum("...i,...j->...ij", p, p)
