# mistake: the largest absolute value is subtracted, so slices of very negative scores vanish
# hint: take the maximum of x itself, without `abs`
import torch

def softmax(x, dim=-1):
    e = torch.exp(x - x.abs().amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
