# mistake: the maximum is subtracted from the caller's own tensor
# hint: `x = x - m` makes a new tensor; `x -= m` and methods that end in `_` write into the one that was given
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    x -= torch.where(torch.isinf(m), torch.zeros_like(m), m)
    e = torch.exp(x)
    s = e.sum(dim=dim, keepdim=True)
    return e / torch.where(s == 0, torch.ones_like(s), s)
