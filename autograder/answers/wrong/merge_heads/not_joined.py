# mistake: words and heads are swapped, but the heads aren't joined: (B, T, H, d_k)
# hint: join the last two dimensions: flatten(2), or reshape
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2)
