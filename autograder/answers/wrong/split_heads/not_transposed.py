# mistake: the heads stay behind the words: (B, T, H, d_k)
# hint: swap the time and head dimensions: dimensions 1 and 2
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, n_heads, d_model // n_heads)
