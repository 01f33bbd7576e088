# mistake: the function takes no argument called `dim`
# hint: keep the stub's signature: `def softmax(x, dim=-1)`
import torch

def softmax(x, axis=-1):
    m = x.amax(dim=axis, keepdim=True)
    m = m.masked_fill(m == float("-inf"), 0)
    e = torch.exp(x - m)
    s = e.sum(dim=axis, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
