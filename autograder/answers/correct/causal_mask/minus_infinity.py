import torch


def causal_mask(T, device=None):
    scores = torch.full((T, T), float("-inf"), device=device).triu(1)
    return scores == 0
