import copy

import torch


def without_head(mha, head):
    clone = copy.deepcopy(mha)
    d_k = clone.out_proj.in_features // clone.n_heads
    with torch.no_grad():
        clone.out_proj.weight[:, head * d_k : (head + 1) * d_k] = 0
    return clone
