# mistake: ones and zeros are returned instead of True and False
# hint: a mask is boolean: `dtype=torch.bool`, or compare
import torch


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.long, device=device).tril()
