# mistake: heads are counted from 1
# hint: head 0 is the first: its columns begin at 0
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice((head - 1) * d_k, head * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
    return silent
