# mistake: the triangle stands on its head
# hint: the first row belongs to the first position, which sees only itself; the last row sees everything
import torch


def causal_mask(T, device=None):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril().flip(0)
