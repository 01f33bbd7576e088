import torch

def softmax(x, dim=-1):
    top = x.max(dim=dim, keepdim=True).values
    top[top == float("-inf")] = 0
    e = torch.exp(x - top)
    # the sum is at least 1 where anything is left, so `tiny` vanishes beside it
    return e / (e.sum(dim, keepdim=True) + torch.finfo(x.dtype).tiny)
