# mistake: the heads come before the batch: (H, B, T, d_k)
# hint: the batch stays first: stack or swap so that the head is dimension 1
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return torch.stack(x.chunk(n_heads, dim=-1))
