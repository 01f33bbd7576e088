import copy


def rename_checkpoint(state):
    left = copy.copy(state)  # the caller's dict keeps all its entries
    for name in list(left):
        if name.startswith("bert."):
            left[name[5:]] = left.pop(name)
    highest = -1
    parts = [
        ("attention.self.query", "attention.q_proj"),
        ("attention.self.key", "attention.k_proj"),
        ("attention.self.value", "attention.v_proj"),
        ("attention.output.dense", "attention.out_proj"),
        ("attention.output.LayerNorm", "norm_1"),
        ("intermediate.dense", "feed_forward.linear_1"),
        ("output.dense", "feed_forward.linear_2"),
        ("output.LayerNorm", "norm_2"),
    ]
    tails = [f"{old}.{end}" for old, _new in parts for end in ("weight", "bias")]
    for name in left:
        if name.startswith("encoder.layer."):
            number, _, tail = name[len("encoder.layer.") :].partition(".")
            if tail in tails:
                highest = max(highest, int(number))
    result, missing = {}, []

    def move(old, new):
        if old in left:
            result[new] = left.pop(old)
        else:
            missing.append(old)

    for old, new in (("word", "tokens"), ("position", "positions"), ("token_type", "segments")):
        move(f"embeddings.{old}_embeddings.weight", f"{new}.weight")
    for end in ("weight", "bias"):
        move(f"embeddings.LayerNorm.{end}", f"norm.{end}")
        for n in range(highest + 1):
            for old, new in parts:
                move(f"encoder.layer.{n}.{old}.{end}", f"layers.{n}.{new}.{end}")
    unknown = [n for n in left if n != "embeddings.position_ids" and n.split(".")[0] not in ("pooler", "cls")]
    if unknown or missing:
        raise KeyError({"unknown": unknown, "missing": missing})
    return result
