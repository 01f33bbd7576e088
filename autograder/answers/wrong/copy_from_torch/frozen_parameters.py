# mistake: the parameters are replaced by ones that don't learn
# hint: copy into the existing parameters under torch.no_grad(): they still have to be trainable
import torch
from torch import nn


def copy_from_torch(mine, theirs):
    with torch.no_grad():
        w = theirs.in_proj_weight.chunk(3)
        b = theirs.in_proj_bias.chunk(3) if theirs.in_proj_bias is not None else (None,) * 3
    for layer, weight, bias in zip((mine.q_proj, mine.k_proj, mine.v_proj), w, b):
        layer.weight = nn.Parameter(weight.clone(), requires_grad=False)
        if bias is not None:
            layer.bias = nn.Parameter(bias.clone(), requires_grad=False)
    mine.out_proj.load_state_dict(theirs.out_proj.state_dict())
