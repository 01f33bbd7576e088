# mistake: the original itself is changed
# hint: work on a copy: copy.deepcopy(mha)
import copy

import torch


def without_head(mha, head):
    silent = mha
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
    return silent
