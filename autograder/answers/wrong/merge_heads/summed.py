# mistake: the heads are added up instead of laid side by side
# hint: Concat keeps all features: the result is H · d_k wide
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.sum(dim=1)
