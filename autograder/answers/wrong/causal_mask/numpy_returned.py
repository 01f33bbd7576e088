# mistake: a numpy array is returned
# hint: make a torch.Tensor, on the device that is asked for
import numpy as np


def causal_mask(T, device=None):
    return np.tri(T, dtype=bool)
