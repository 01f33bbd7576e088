# mistake: the scores are divided by the largest one instead of lowered by it, which changes the result
# hint: subtract the maximum: only differences between scores matter to softmax
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x / m)
    return e / e.sum(dim=dim, keepdim=True)
