# mistake: a score of −∞ is replaced by 0 before `exp`, and so gets a share
# hint: leave −∞ as it is: `exp` makes it 0 by itself; only the maximum of an empty slice needs care
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    shifted = x - torch.where(torch.isinf(m), torch.zeros_like(m), m)
    shifted = torch.where(torch.isinf(shifted), torch.zeros_like(shifted), shifted)
    e = torch.exp(shifted)
    return e / e.sum(dim=dim, keepdim=True)
