# mistake: the words come before the batch: (T, B, H · d_k)
# hint: the batch stays first
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.permute(2, 0, 1, 3).reshape(T, B, H * d_k)
