import torch

def _one(v):
    m = v.max()
    if m == float("-inf"):
        return torch.zeros_like(v)
    e = torch.exp(v - m)
    return e / e.sum()

def softmax(x, dim=-1):
    last = x.movedim(dim, -1)
    slices = [_one(v) for v in last.reshape(-1, last.shape[-1])]
    return torch.stack(slices).reshape(last.shape).movedim(-1, dim)
