# mistake: reshapes straight to (B, H, T, d_k), so that words and heads get mixed up
# hint: a reshape keeps the reading order and can't bring the head to the front: cut the last dimension into (n_heads, d_k), which gives (B, T, H, d_k), then swap dimensions 1 and 2
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, n_heads, T, d_model // n_heads)
