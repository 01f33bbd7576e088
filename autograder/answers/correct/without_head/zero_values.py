import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    width = silent.v_proj.weight.size(0) // silent.n_heads
    start, stop = head * width, head * width + width
    with torch.no_grad():
        silent.v_proj.weight[start:stop].fill_(0.0)
        if silent.v_proj.bias is not None:
            silent.v_proj.bias[start:stop].fill_(0.0)
    return silent
