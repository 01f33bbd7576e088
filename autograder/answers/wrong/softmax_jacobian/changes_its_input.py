# mistake: p itself is written to
# hint: methods that end in `_`, and `p += …`, change the caller's tensor: make a new one (and 0 and 1 need no clamp here)
import torch

def softmax_jacobian(p):
    p.clamp_(1e-7, 1.0)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
