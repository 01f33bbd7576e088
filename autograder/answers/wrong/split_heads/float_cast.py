# mistake: the heads are float32 whatever came in
# hint: keep the dtype of x: a reshape and a swap need no conversion
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.float().reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
