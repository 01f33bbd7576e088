# mistake: the biases aren't copied
# hint: copy in_proj_bias, cut into three, and out_proj.bias, where theirs has them
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            layer.weight.copy_(weight)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
