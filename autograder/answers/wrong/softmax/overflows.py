# mistake: the largest score isn't subtracted first, so `exp` overflows to infinity or vanishes to 0
# hint: softmax doesn't change when one number is subtracted from a whole slice: take its largest, `x.amax(dim, keepdim=True)`
import torch

def softmax(x, dim=-1):
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)
