# mistake: columns of v_proj are set to 0, which hides features of the input from all heads
# hint: a head's values are a block of *rows* of v_proj (out, in), or a block of columns of out_proj
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.v_proj.weight[:, part] = 0
    return silent
