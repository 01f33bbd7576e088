# mistake: the maximum is taken along the last dimension even where the sum runs along another
# hint: only one and the same number for a whole slice may be subtracted: maximum and sum run along the same `dim`
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=-1, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
