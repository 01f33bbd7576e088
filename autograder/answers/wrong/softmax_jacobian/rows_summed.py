# mistake: the rows are added up, so only zeros of shape (..., n) are left
# hint: keep the whole matrix: no `sum` at the end, and no gradient of `softmax(x).sum()`
import torch

def softmax_jacobian(p):
    return (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)).sum(-1)
