# mistake: out_proj is the same object in both models, so they change together
# hint: copy the values of out_proj's weight and bias into your own layer
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            layer.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3)):
                layer.bias.copy_(bias)
    mine.out_proj = theirs.out_proj
