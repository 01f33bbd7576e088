# mistake: only the first position is visible
# hint: row i is True in all columns from 0 to i
import torch


def causal_mask(T, device=None):
    mask = torch.zeros(T, T, dtype=torch.bool, device=device)
    mask[:, 0] = True
    return mask
