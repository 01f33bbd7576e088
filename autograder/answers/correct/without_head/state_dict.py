import copy


def without_head(mha, head):
    state = {name: value.clone() for name, value in mha.state_dict().items()}
    width = state["out_proj.weight"].shape[1] // mha.n_heads
    for column in range(head * width, (head + 1) * width):
        state["out_proj.weight"][:, column] *= 0
    twin = copy.deepcopy(mha)
    twin.load_state_dict(state)
    return twin
