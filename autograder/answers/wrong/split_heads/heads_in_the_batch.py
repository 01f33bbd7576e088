# mistake: batch and heads are one dimension: (B·H, T, d_k)
# hint: keep four dimensions, (B, H, T, d_k): masks and outputs need to know which sentence is which
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, n_heads, -1).transpose(1, 2).reshape(B * n_heads, T, -1)
