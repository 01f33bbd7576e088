# mistake: without `dim` the first dimension is normalised instead of the last
# hint: the stub's signature says `dim=-1`
import torch

def softmax(x, dim=0):
    m = x.amax(dim=dim, keepdim=True)
    m = torch.where(m == float("-inf"), torch.zeros_like(m), m)
    e = torch.exp(x - m)
    s = e.sum(dim=dim, keepdim=True)
    return e / torch.where(s == 0, torch.ones_like(s), s)
