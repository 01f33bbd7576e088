# mistake: a score of −∞ is replaced by 0 before `exp`, and so gets a share
# hint: leave −∞ as it is: `exp` makes it 0 by itself; only the maximum of an empty slice needs care
import torch

def softmax(x, dim=-1):
    x = torch.nan_to_num(x, neginf=0.0)
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
