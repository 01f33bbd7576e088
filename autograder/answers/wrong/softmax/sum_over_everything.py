# mistake: divides by the sum over the whole tensor
# hint: the sum runs along `dim` only, with `keepdim=True`, so that each slice adds up to 1
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    return e / e.sum()
