# mistake: writes into parameters that learn, with gradients switched on
# hint: PyTorch refuses that: put the copying under torch.no_grad()
import torch


def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.enable_grad():
        for layer, weight in zip(layers, theirs.in_proj_weight.chunk(3)):
            layer.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(layers, theirs.in_proj_bias.chunk(3)):
                layer.bias.copy_(bias)
            mine.out_proj.bias.copy_(theirs.out_proj.bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
