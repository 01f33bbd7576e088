# mistake: the head's values lose their weights but not their bias
# hint: where values are silenced, their bias has to go too
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.v_proj.weight[part] = 0
    return silent
