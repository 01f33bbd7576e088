# mistake: the copy isn't returned
# hint: end with return
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
