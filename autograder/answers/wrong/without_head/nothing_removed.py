# mistake: the copy still has all its heads
# hint: indexing with a list, or arithmetic, makes a new tensor: write the zeros into out_proj.weight itself
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, list(range(*part.indices(10**6)))[:d_k]].zero_()
    return silent
