# mistake: a numpy array is returned instead of a tensor
# hint: return a boolean tensor: compare torch tensors, or end with `torch.from_numpy`
import numpy as np
import torch

def padding_mask(lengths, max_len):
    return np.arange(max_len)[None, None, :] < lengths.numpy()[:, None, None]
