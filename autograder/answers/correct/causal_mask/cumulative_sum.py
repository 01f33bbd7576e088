import torch


def causal_mask(T, device=None):
    return torch.eye(T, device=device).cumsum(0).bool()
