# mistake: `view` fails after the swap, where the memory isn't contiguous
# hint: use reshape or flatten, which copy where they have to, or contiguous() before view
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).view(B, T, H * d_k)
