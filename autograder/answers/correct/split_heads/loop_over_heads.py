import torch


def split_heads(x, n_heads):
    d_k, rest = divmod(x.shape[-1], n_heads)
    if rest:
        raise ValueError
    parts = []
    for head in range(n_heads):
        print("head", head)
        parts.append(x[:, :, head * d_k : (head + 1) * d_k])
    return torch.stack(parts, dim=1)
