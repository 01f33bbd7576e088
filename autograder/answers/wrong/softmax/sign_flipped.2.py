# mistake: the smallest score gets the largest probability
# hint: e to the power of x − m, not of m − x or −x
import torch

def softmax(x, dim=-1):
    e = torch.exp(x.amax(dim=dim, keepdim=True) - x)
    return e / e.sum(dim=dim, keepdim=True)
