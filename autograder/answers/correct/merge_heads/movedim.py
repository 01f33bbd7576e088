import torch


def merge_heads(x):
    return torch.movedim(x, 1, 2).flatten(start_dim=-2)
