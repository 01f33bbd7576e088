import torch


def causal_mask(T, device=None):
    rows = [torch.cat([torch.ones(i + 1), torch.zeros(T - i - 1)]) for i in range(T)]
    return torch.stack(rows).bool().to(device)
