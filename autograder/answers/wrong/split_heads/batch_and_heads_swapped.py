# mistake: batch and words change places instead of words and heads
# hint: the first dimension is the batch: swap dimensions 1 and 2, the words and the heads
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.reshape(B, T, n_heads, d_model // n_heads).permute(1, 2, 0, 3)
