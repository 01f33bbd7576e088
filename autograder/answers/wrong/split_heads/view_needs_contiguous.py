# mistake: `view` fails on a tensor that isn't contiguous in memory
# hint: use reshape or unflatten, which copy where they have to; x may be a transposed view
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.view(B * T, n_heads, d_model // n_heads).view(B, T, n_heads, -1).transpose(1, 2)
