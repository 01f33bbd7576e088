# mistake: the scores themselves are divided by their sum, without `exp`
# hint: take `exp` first: it makes every score positive
import torch

def softmax(x, dim=-1):
    x = x - x.amin(dim=dim, keepdim=True)
    return x / x.sum(dim=dim, keepdim=True)
