import numpy as np
import torch


def causal_mask(T, device=None):
    return torch.from_numpy(np.tri(T, dtype=bool)).to(device or "cpu")
