# mistake: the base of the power isn't e
# hint: use `torch.exp`
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    powers = 10 ** (x - m.masked_fill(torch.isinf(m), 0))
    s = powers.sum(dim=dim, keepdim=True)
    return powers / s.masked_fill(s == 0, 1)
