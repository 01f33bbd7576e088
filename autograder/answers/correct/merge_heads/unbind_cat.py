import torch


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=2)
