import torch


def causal_mask(T, device=None):
    future = torch.triu(torch.ones(T, T, device=device), diagonal=1)
    return future == 0
