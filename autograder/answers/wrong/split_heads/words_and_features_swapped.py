# mistake: the features come before the words: (B, H, d_k, T)
# hint: only the words and the heads change places; the features stay last
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, n_heads, d_model // n_heads).permute(0, 2, 3, 1)
