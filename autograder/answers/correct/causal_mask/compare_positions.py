import torch


def causal_mask(T, device=None):
    position = torch.arange(T, device=device)
    return position[None, :] <= position[:, None]
