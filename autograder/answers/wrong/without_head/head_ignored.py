# mistake: always takes away head 0
# hint: use the argument head to find its columns
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(0, d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
    return silent
