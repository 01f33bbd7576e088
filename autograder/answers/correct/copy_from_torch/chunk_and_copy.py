import torch


@torch.no_grad()
def copy_from_torch(mine, theirs):
    for i, layer in enumerate((mine.q_proj, mine.k_proj, mine.v_proj)):
        layer.weight.copy_(theirs.in_proj_weight.chunk(3)[i])
        if theirs.in_proj_bias is not None:
            layer.bias.copy_(theirs.in_proj_bias.chunk(3)[i])
    mine.out_proj.weight.copy_(theirs.out_proj.weight)
    if theirs.out_proj.bias is not None:
        mine.out_proj.bias.copy_(theirs.out_proj.bias)
