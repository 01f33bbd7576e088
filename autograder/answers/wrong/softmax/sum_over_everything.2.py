# mistake: divides by the sum over the whole tensor
# hint: the sum runs along `dim` only, with `keepdim=True`, so that each slice adds up to 1
import torch

def softmax(x, dim=-1):
    e = torch.exp(x - x.max())
    return e / torch.sum(e)
