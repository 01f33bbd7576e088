WORDS = {
    ("embeddings", "word_embeddings"): ("tokens",),
    ("embeddings", "position_embeddings"): ("positions",),
    ("embeddings", "token_type_embeddings"): ("segments",),
    ("embeddings", "LayerNorm"): ("norm",),
    ("attention", "self", "query"): ("attention", "q_proj"),
    ("attention", "self", "key"): ("attention", "k_proj"),
    ("attention", "self", "value"): ("attention", "v_proj"),
    ("attention", "output", "dense"): ("attention", "out_proj"),
    ("attention", "output", "LayerNorm"): ("norm_1",),
    ("intermediate", "dense"): ("feed_forward", "linear_1"),
    ("output", "dense"): ("feed_forward", "linear_2"),
    ("output", "LayerNorm"): ("norm_2",),
}


class CheckpointError(KeyError):
    """The names in a checkpoint aren't those of a BERT."""


def rename_checkpoint(state: dict) -> dict:
    new_state, trouble, highest = {}, [], -1
    for name, tensor in state.items():
        words = name.split(".")
        if words[0] == "bert":
            words = words[1:]
        if words[0] in ("pooler", "cls") or words == ["embeddings", "position_ids"]:
            continue
        front = ()
        body, end = tuple(words[:-1]), words[-1]
        if body[:2] == ("encoder", "layer") and len(body) > 2 and body[2].isdigit():
            front, body = ("layers", body[2]), body[3:]
        known = body in WORDS and (body[0] == "embeddings") == (not front)
        known = known and (end == "weight" or (end == "bias" and not body[-1].endswith("embeddings")))
        if not known:
            trouble.append(name)
            continue
        new_state[".".join((*front, *WORDS[body], end))] = tensor
        if front:
            highest = max(highest, int(front[1]))
    for body, ours in WORDS.items():
        fronts = [()] if body[0] == "embeddings" else [("layers", str(n)) for n in range(highest + 1)]
        ends = ["weight"] if body[-1].endswith("embeddings") else ["weight", "bias"]
        for front in fronts:
            for end in ends:
                expected = ".".join((*front, *ours, end))
                if expected not in new_state:
                    trouble.append(expected)
    if trouble:
        raise CheckpointError(*trouble)
    return new_state
