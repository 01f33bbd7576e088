import copy


def without_head(mha, head):
    print("silencing head", head)
    result = copy.deepcopy(mha)
    result.out_proj.weight.data.unflatten(1, (mha.n_heads, -1))[:, head] = 0.0
    return result
