# mistake: the heads stay rows, and the words are joined: (B, H, T · d_k)
# hint: the words stay: join heads and features, after swapping heads and words
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.reshape(B, H, T * d_k)
