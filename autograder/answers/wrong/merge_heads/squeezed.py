# mistake: dimensions of size 1 get lost
# hint: no bare squeeze(): one sentence, or one word, is still a dimension
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k).squeeze()
