# mistake: a slice of nothing but −∞ gets equal probabilities instead of zeros
# hint: −∞ means never: make the entries that were −∞ exactly 0 after dividing, also where a whole slice is −∞
import torch

def softmax(x, dim=-1):
    x = torch.clamp(x, min=torch.finfo(x.dtype).min)
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
