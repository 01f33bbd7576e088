# mistake: the packed bias of q, k and v isn't copied
# hint: cut in_proj_bias into three as well, one for each layer
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            layer.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            mine.out_proj.bias.copy_(theirs.out_proj.bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
