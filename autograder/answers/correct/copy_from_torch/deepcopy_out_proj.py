import copy

import torch
from torch import nn


def copy_from_torch(mine, theirs):
    with torch.no_grad():
        q, k, v = theirs.in_proj_weight.unflatten(0, (3, -1))
        for layer, w in ((mine.q_proj, q), (mine.k_proj, k), (mine.v_proj, v)):
            layer.weight.set_(w.clone())
        if theirs.in_proj_bias is not None:
            biases = theirs.in_proj_bias.reshape(3, -1)
            for n, layer in enumerate((mine.q_proj, mine.k_proj, mine.v_proj)):
                layer.bias[:] = biases[n]
    mine.out_proj = copy.deepcopy(theirs.out_proj)
