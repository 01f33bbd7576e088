# mistake: each position sees itself alone
# hint: row i is True in all columns from 0 to i, not in column i alone
import torch


def causal_mask(T, device=None):
    return torch.eye(T, dtype=torch.bool, device=device)
