# mistake: rows of out_proj are set to 0, which silences features of the output instead of a head
# hint: weight is (out, in), and the heads are what comes in: set columns to 0
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[part] = 0
    return silent
