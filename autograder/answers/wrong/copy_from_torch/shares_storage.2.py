# mistake: the new parameters are views into theirs: both models share one storage
# hint: copy values into the existing parameters with copy_, or clone() before making a new nn.Parameter
def copy_from_torch(mine, theirs):
    d = mine.q_proj.weight.shape[0]
    for i, layer in enumerate((mine.q_proj, mine.k_proj, mine.v_proj)):
        layer.weight.data = theirs.in_proj_weight.data[i * d : (i + 1) * d]
        if theirs.in_proj_bias is not None:
            layer.bias.data = theirs.in_proj_bias.data[i * d : (i + 1) * d]
    mine.out_proj.weight.data = theirs.out_proj.weight.data
    if theirs.out_proj.bias is not None:
        mine.out_proj.bias.data = theirs.out_proj.bias.data
