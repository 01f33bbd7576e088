import torch


def causal_mask(T, device=None):
    mask = torch.zeros(T, T, dtype=torch.bool)
    i, j = torch.tril_indices(T, T)
    mask[i, j] = True
    return mask if device is None else mask.to(device)
