def copy_from_torch(mine, theirs):
    packed = theirs.state_dict()
    state = {}
    for kind in ("weight", "bias"):
        if f"in_proj_{kind}" in packed:
            for name, part in zip(("q", "k", "v"), packed[f"in_proj_{kind}"].chunk(3, dim=0)):
                state[f"{name}_proj.{kind}"] = part
            state[f"out_proj.{kind}"] = packed[f"out_proj.{kind}"]
    mine.load_state_dict(state, strict=False)
    return mine
