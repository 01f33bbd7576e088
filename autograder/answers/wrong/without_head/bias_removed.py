# mistake: the bias of out_proj is set to 0 as well
# hint: the bias belongs to no head: leave it alone
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
        if silent.out_proj.bias is not None:
            silent.out_proj.bias.zero_()
    return silent
