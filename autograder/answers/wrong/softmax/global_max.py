# mistake: one maximum of the whole tensor is subtracted, so rows that lie far below it vanish
# hint: each slice has its own maximum: give `amax` the `dim`, with `keepdim=True`
import torch

def softmax(x, dim=-1):
    e = torch.exp(x - x.max())
    return e / e.sum(dim=dim, keepdim=True)
