# mistake: all other heads are taken away, and this one is kept
# hint: set this head's columns to 0, and leave the others
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        keep = torch.zeros_like(silent.out_proj.weight)
        keep[:, part] = 1
        silent.out_proj.weight *= keep
    return silent
