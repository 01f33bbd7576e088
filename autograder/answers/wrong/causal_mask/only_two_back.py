# mistake: only the last few positions are visible
# hint: row i is True from column 0 on, however far back that is
import torch


def causal_mask(T, device=None):
    ones = torch.ones(T, T, dtype=torch.bool, device=device)
    return ones.tril() & ones.triu(-2)
