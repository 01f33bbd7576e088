# mistake: an entry is missing from the sum
# hint: the sum in the denominator runs over all entries of the slice, the entry itself among them
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    s = e.sum(dim=dim, keepdim=True) - e
    return e / s.masked_fill(s == 0, 1)
