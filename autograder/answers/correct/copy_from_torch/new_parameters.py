from torch import nn


def copy_from_torch(mine, theirs):
    d = theirs.embed_dim
    for i, name in enumerate(["q_proj", "k_proj", "v_proj"]):
        layer = getattr(mine, name)
        layer.weight = nn.Parameter(theirs.in_proj_weight[i * d : (i + 1) * d].detach().clone())
        if theirs.in_proj_bias is not None:
            layer.bias = nn.Parameter(theirs.in_proj_bias[i * d : (i + 1) * d].detach().clone())
    mine.out_proj.weight = nn.Parameter(theirs.out_proj.weight.detach().clone())
    if theirs.out_proj.bias is not None:
        mine.out_proj.bias = nn.Parameter(theirs.out_proj.bias.detach().clone())
