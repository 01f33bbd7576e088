# mistake: longer sequences than some fixed size don't get a full mask
# hint: build the mask for the T that is given
import torch


def causal_mask(T, device=None):
    return torch.ones(5, 5, dtype=torch.bool, device=device).tril()
