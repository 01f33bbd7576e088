# mistake: a small number is added to the sum, so the probabilities don't quite add up to 1
# hint: after subtracting the maximum the sum is at least 1, so no epsilon is needed; treat only a sum of 0 apart
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True).clamp(min=torch.finfo(x.dtype).min)
    e = torch.exp(x - m)
    return e / (e.sum(dim=dim, keepdim=True) + 1e-3)
