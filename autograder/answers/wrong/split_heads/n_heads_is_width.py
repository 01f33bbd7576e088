# mistake: n_heads is taken for the width of a head
# hint: there are n_heads heads, each d_model / n_heads wide
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, d_model // n_heads, n_heads).transpose(1, 2)
