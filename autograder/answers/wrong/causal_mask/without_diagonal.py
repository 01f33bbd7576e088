# mistake: the diagonal is False: no position sees itself
# hint: a position may attend to itself; otherwise the first one would have nothing at all
import torch


def causal_mask(T, device=None):
    return torch.ones((T, T), dtype=torch.bool, device=device).tril(diagonal=-1)
