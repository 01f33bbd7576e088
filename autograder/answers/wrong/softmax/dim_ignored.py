# mistake: the argument `dim` is ignored
# hint: pass `dim` on to both the maximum and the sum
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=-1, keepdim=True)
    m = torch.where(m == float("-inf"), torch.zeros_like(m), m)
    e = torch.exp(x - m)
    s = e.sum(dim=-1, keepdim=True)
    return e / torch.where(s == 0, torch.ones_like(s), s)
