# mistake: the last head comes first
# hint: lay them side by side from head 0 on
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return torch.cat([x[:, h] for h in reversed(range(H))], dim=-1)
