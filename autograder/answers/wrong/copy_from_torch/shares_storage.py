# mistake: the new parameters are views into theirs: both models share one storage
# hint: copy values into the existing parameters with copy_, or clone() before making a new nn.Parameter
from torch import nn


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    for layer, weight in zip(layers, theirs.in_proj_weight.detach().chunk(3)):
        layer.weight = nn.Parameter(weight)
    if theirs.in_proj_bias is not None:
        for layer, bias in zip(layers, theirs.in_proj_bias.detach().chunk(3)):
            layer.bias = nn.Parameter(bias)
        mine.out_proj.bias = nn.Parameter(theirs.out_proj.bias.detach())
    mine.out_proj.weight = nn.Parameter(theirs.out_proj.weight.detach())
