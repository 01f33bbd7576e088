# mistake: the mask has one row and one column too many
# hint: T positions ask, and T can be asked: (T, T)
import torch


def causal_mask(T, device=None):
    return torch.ones(T + 1, T + 1, dtype=torch.bool, device=device).tril()
