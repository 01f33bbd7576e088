# mistake: every third row is taken instead of a block of rows
# hint: in_proj_weight holds the three matrices one below the other: cut it into three blocks, with chunk
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(layers, [theirs.in_proj_weight[i::3] for i in range(3)]):
            layer.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(layers, [theirs.in_proj_bias[i::3] for i in range(3)]):
                layer.bias.copy_(bias)
            mine.out_proj.bias.copy_(theirs.out_proj.bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
