def copy_from_torch(mine, theirs):
    d_model = mine.q_proj.weight.shape[0]
    targets = [mine.q_proj, mine.k_proj, mine.v_proj]
    for layer, weight in zip(targets, theirs.in_proj_weight.data.split(d_model)):
        layer.weight.data.copy_(weight)
    if theirs.in_proj_bias is not None:
        for layer, bias in zip(targets, theirs.in_proj_bias.data.split(d_model)):
            layer.bias.data[:] = bias
        mine.out_proj.bias.data[:] = theirs.out_proj.bias.data
    mine.out_proj.weight.data[:] = theirs.out_proj.weight.data
