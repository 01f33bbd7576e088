# mistake: always returns float64
# hint: computing in float64 is fine, but give the result the dtype that x had: `.to(x.dtype)`
import torch

def softmax(x, dim=-1):
    x = x.double()
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
