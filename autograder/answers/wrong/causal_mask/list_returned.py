# mistake: a list is returned, not a tensor
# hint: make a tensor of it, on the device that is asked for
import torch


def causal_mask(T, device=None):
    return [[j <= i for j in range(T)] for i in range(T)]
