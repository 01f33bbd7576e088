# mistake: a slice of nothing but −∞ gets equal probabilities instead of zeros
# hint: −∞ means never: make the entries that were −∞ exactly 0 after dividing, also where a whole slice is −∞
import torch

def softmax(x, dim=-1):
    p = torch.exp(x - x.amax(dim, keepdim=True))
    p = p / p.sum(dim, keepdim=True)
    return torch.nan_to_num(p, nan=1 / x.shape[dim])
