import torch


class UnevenWidth(ValueError):
    pass


def split_heads(x, n_heads):
    if x.size(-1) / n_heads != x.size(-1) // n_heads:
        raise UnevenWidth(f"{x.size(-1)} / {n_heads}")
    return torch.cat([part.unsqueeze(1) for part in x.split(x.size(-1) // n_heads, dim=-1)], dim=1)
