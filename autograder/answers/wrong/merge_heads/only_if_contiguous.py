# mistake: right only for tensors that are contiguous in memory: it reads the storage in its order
# hint: don't rely on the order in memory: swap and join with PyTorch's own operations
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return torch.as_strided(x, (B, T, H, d_k), (H * T * d_k, d_k, T * d_k, 1)).reshape(B, T, H * d_k)
