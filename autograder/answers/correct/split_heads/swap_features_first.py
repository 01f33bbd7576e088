import torch


def split_heads(x, n_heads):
    if x.shape[2] % n_heads:
        raise ValueError("uneven")
    features_first = x.transpose(1, 2)  # (B, d_model, T)
    return features_first.unflatten(1, (n_heads, -1)).transpose(2, 3).contiguous()
