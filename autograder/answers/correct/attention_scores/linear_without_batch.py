import torch
import torch.nn.functional as F

def attention_scores(q, k, scale=1.0):
    if k.dim() == 2:
        return F.linear(q, k) * scale
    return torch.matmul(q * scale, k.movedim(-1, -2))
