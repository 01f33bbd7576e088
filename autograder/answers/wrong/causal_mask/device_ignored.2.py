# mistake: `device` is ignored
# hint: make the mask where it is asked for: `device=device` in the call that creates it
import torch


def causal_mask(T, device=None):
    position = torch.arange(T)
    return position <= position.unsqueeze(1)
