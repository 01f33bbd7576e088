# mistake: `device` has no default
# hint: the signature is `causal_mask(T, device=None)`
import torch


def causal_mask(T, device):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()
