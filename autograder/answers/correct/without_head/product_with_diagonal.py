import copy

import torch


def without_head(mha, head):
    other = copy.deepcopy(mha)
    weight = other.out_proj.weight
    keep = torch.ones(mha.n_heads, weight.shape[1] // mha.n_heads, dtype=weight.dtype, device=weight.device)
    keep[head] = 0
    with torch.no_grad():
        weight.copy_(weight @ torch.diag(keep.flatten()))
    return other
