# mistake: one maximum of the whole tensor is subtracted, so rows that lie far below it vanish
# hint: each slice has its own maximum: give `amax` the `dim`, with `keepdim=True`
import torch

def softmax(x, dim=-1):
    top = x.max()
    if top == float("-inf"):
        return torch.zeros_like(x)
    e = torch.exp(x - top)
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
