# mistake: always computes and returns float32
# hint: keep the dtype of p: no `.float()`, and new tensors with `dtype=p.dtype`
import torch

def softmax_jacobian(p):
    p = p.float()
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
