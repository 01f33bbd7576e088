# mistake: the upper triangle is True: only the present and the future are visible
# hint: rows are queries: row i may see columns 0 to i, the lower triangle
import torch


def causal_mask(T, device=None):
    position = torch.arange(T, device=device)
    return position[:, None] <= position[None, :]
