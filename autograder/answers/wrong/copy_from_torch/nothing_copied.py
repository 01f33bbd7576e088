# mistake: the values are put into new variables, and mine isn't changed
# hint: assigning to a name changes no parameter: layer.weight.copy_(...) writes into it
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            layer_weight = weight.clone()
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3)):
                layer_bias = bias.clone()
            out_bias = theirs.out_proj.bias.clone()
        out_weight = theirs.out_proj.weight.clone()
