# mistake: every H-th column is set to 0 instead of a block
# hint: a head's features are neighbours: columns head · d_k up to (head + 1) · d_k
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, head :: silent.n_heads] = 0
    return silent
