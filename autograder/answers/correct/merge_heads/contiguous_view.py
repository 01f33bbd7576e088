import torch


def merge_heads(x):
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(x.shape[0], x.shape[1], -1)
