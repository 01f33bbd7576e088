# mistake: n_heads is lowered, so that the remaining heads are cut anew
# hint: keep n_heads and all shapes: only set the head's columns to 0
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
    silent.n_heads -= 1
    return silent
