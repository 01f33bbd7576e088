# mistake: the argument `dim` is ignored
# hint: pass `dim` on to both the maximum and the sum
import torch

def softmax(x, dim=-1):
    e = torch.exp(x - x.max(1, keepdim=True)[0])
    return e / e.sum(1, keepdim=True)
