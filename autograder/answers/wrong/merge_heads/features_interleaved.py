# mistake: the features of the heads are interleaved
# hint: heads are laid side by side: all of head 0, then all of head 1; the head is the outer of the two dimensions that are joined
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, H * d_k)
