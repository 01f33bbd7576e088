# mistake: this head and all after it are taken away
# hint: the block ends at (head + 1) · d_k
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, None)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
    return silent
