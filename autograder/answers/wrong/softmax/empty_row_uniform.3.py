# mistake: a slice of nothing but −∞ gets equal probabilities instead of zeros
# hint: −∞ means never: make the entries that were −∞ exactly 0 after dividing, also where a whole slice is −∞
import torch

def softmax(x, dim=-1):
    shifted = x - x.amax(dim=dim, keepdim=True)
    shifted = torch.where(shifted.isnan(), torch.zeros_like(shifted), shifted)
    e = torch.exp(shifted)
    return e / e.sum(dim=dim, keepdim=True)
