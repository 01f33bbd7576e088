# mistake: writes into a parameter that learns, with gradients switched on
# hint: PyTorch refuses that: put the change under torch.no_grad()
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.enable_grad():
        silent.out_proj.weight[:, part] = 0
    return silent
