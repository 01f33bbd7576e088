# mistake: the heads come out in reverse order
# hint: head 0 gets the first block of features
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2).flip(1)
