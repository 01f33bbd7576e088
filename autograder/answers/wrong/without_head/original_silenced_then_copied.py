# mistake: the original loses its head before the copy is made
# hint: make the copy first, and change only the copy
import copy

import torch


def without_head(mha, head):
    d_k = mha.out_proj.weight.shape[1] // mha.n_heads
    with torch.no_grad():
        mha.out_proj.weight[:, head * d_k : (head + 1) * d_k] = 0
    return copy.deepcopy(mha)
