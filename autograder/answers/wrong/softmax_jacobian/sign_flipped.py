# mistake: every sign is turned round
# hint: a higher score means a higher probability: the diagonal is positive
import torch

def softmax_jacobian(p):
    return p.unsqueeze(-1) * p.unsqueeze(-2) - torch.diag_embed(p)
