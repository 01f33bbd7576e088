from copy import deepcopy

import torch
from torch import nn


def without_head(mha, head):
    new = deepcopy(mha)
    weight = new.out_proj.weight
    owner = torch.arange(weight.shape[1]) // (weight.shape[1] // mha.n_heads)
    new.out_proj.weight = nn.Parameter(weight.detach() * (owner != head))
    return new
