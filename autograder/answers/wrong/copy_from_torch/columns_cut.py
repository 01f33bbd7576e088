# mistake: the packed weight is cut into blocks of columns and put together anew
# hint: the three matrices stand one below the other: cut along the first dimension, the rows
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    weight_shape = mine.q_proj.weight.shape
    with torch.no_grad():
        for layer, weight in zip(
            layers, [part.reshape(weight_shape) for part in theirs.in_proj_weight.chunk(3, dim=1)]
        ):
            layer.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3)):
                layer.bias.copy_(bias)
            mine.out_proj.bias.copy_(theirs.out_proj.bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
