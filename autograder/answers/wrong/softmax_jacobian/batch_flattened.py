# mistake: the dimensions in front are flattened into one
# hint: give the result its dimensions back: (..., n, n) has those of p in front, and none for a single p
import torch

def softmax_jacobian(p):
    p = p.reshape(-1, p.shape[-1])
    return torch.diag_embed(p) - p.unsqueeze(2) * p.unsqueeze(1)
