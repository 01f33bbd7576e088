# mistake: True marks the hidden future, as `nn.MultiheadAttention` wants it
# hint: in this course True means: may be attended. Turn it round
import torch


def causal_mask(T, device=None):
    return torch.triu(torch.ones(T, T, device=device), diagonal=1) == 1
