# mistake: −∞ is multiplied by 0, which is NaN
# hint: a product can't hide infinity: choose with `torch.where` or `masked_fill`
import torch

def softmax(x, dim=-1):
    valid = (x != float("-inf")).to(x.dtype)
    x = x * valid
    e = torch.exp(x - x.amax(dim=dim, keepdim=True)) * valid
    return e / e.sum(dim=dim, keepdim=True)
