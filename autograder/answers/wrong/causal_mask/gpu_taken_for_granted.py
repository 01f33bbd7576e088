# mistake: a GPU is taken for granted
# hint: without `device` the mask belongs on PyTorch's default device: the default is None
import torch


def causal_mask(T, device="cuda"):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()
