import torch

def softmax(x, dim=-1):
    empty = torch.isneginf(x).all(dim=dim, keepdim=True)
    safe = x.masked_fill(empty, 0.0)
    e = torch.exp(safe - safe.amax(dim=dim, keepdim=True))
    p = e / e.sum(dim=dim, keepdim=True)
    return p.masked_fill(empty, 0.0)
