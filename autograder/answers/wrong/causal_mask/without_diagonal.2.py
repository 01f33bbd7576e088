# mistake: the diagonal is False: no position sees itself
# hint: a position may attend to itself; otherwise the first one would have nothing at all
import torch


def causal_mask(T, device=None):
    position = torch.arange(T, device=device)
    return position[None, :] < position[:, None]
