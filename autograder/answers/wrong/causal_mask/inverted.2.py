# mistake: True marks the hidden future, as `nn.MultiheadAttention` wants it
# hint: in this course True means: may be attended. Turn it round
import torch


def causal_mask(T, device=None):
    return ~torch.ones(T, T, dtype=torch.bool, device=device).tril()
