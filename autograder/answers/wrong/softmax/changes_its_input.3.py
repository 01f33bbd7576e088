# mistake: the maximum is subtracted from the caller's own tensor
# hint: `x = x - m` makes a new tensor; `x -= m` and methods that end in `_` write into the one that was given
import torch

def softmax(x, dim=-1):
    e = x.sub_(x.amax(dim, keepdim=True)).exp_()
    return e.div_(e.sum(dim, keepdim=True))
