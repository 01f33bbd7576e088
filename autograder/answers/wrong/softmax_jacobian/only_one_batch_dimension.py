# mistake: works for (B, n) only: not for a single distribution, and not with more dimensions in front
# hint: count from the end: `unsqueeze(-1)`, `unsqueeze(-2)`, or an einsum with `...`
import torch

def softmax_jacobian(p):
    return torch.diag_embed(p) - torch.einsum("bi,bj->bij", p, p)
