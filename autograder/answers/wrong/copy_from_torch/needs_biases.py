# mistake: fails where the layers have no biases
# hint: with bias=False, in_proj_bias and out_proj.bias are None: copy them only where they exist
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            layer.weight.copy_(weight)
        if True:
            for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3)):
                layer.bias.copy_(bias)
            mine.out_proj.bias.copy_(theirs.out_proj.bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
