# mistake: the minimum is subtracted instead of the maximum, so the largest score overflows
# hint: after the shift no score may be above 0: subtract the largest
import torch

def softmax(x, dim=-1):
    e = torch.exp(x - x.amin(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
