# mistake: each head takes every H-th feature instead of a block of neighbours
# hint: the head is the outer of the two new dimensions: (n_heads, d_k), not (d_k, n_heads)
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, d_model // n_heads, n_heads).permute(0, 3, 1, 2)
