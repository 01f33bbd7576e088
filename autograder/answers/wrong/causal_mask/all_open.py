# mistake: everything is visible
# hint: cut off what lies above the diagonal
import torch


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.bool, device=device)
