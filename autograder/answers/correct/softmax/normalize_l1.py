import torch
import torch.nn.functional as F

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    m = m.masked_fill(m.isinf(), 0)
    return F.normalize(torch.exp(x - m), p=1, dim=dim)
