# mistake: the other heads are made louder, as dropout does
# hint: leave the others as they are: only one term of the sum is missing
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
        silent.out_proj.weight *= silent.n_heads / (silent.n_heads - 1)
    return silent
