# mistake: theirs gets mine's weights, instead of mine theirs'
# hint: a.copy_(b) writes into a: mine is what changes
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            weight.copy_(layer.weight)
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3)):
                bias.copy_(layer.bias)
            theirs.out_proj.bias.copy_(mine.out_proj.bias)
        theirs.out_proj.weight.copy_(mine.out_proj.weight)
