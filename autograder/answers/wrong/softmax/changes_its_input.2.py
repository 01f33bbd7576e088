# mistake: the maximum is subtracted from the caller's own tensor
# hint: `x = x - m` makes a new tensor; `x -= m` and methods that end in `_` write into the one that was given
import torch

def softmax(x, dim=-1):
    with torch.no_grad():
        m = x.amax(dim=dim, keepdim=True)
        x -= m.masked_fill(torch.isinf(m), 0)
    e = torch.exp(x)
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
