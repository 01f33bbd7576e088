# mistake: `output.dense` is replaced inside `attention.output.dense` too
# hint: replace the longer names first, or look up whole names
def rename_checkpoint(state):
    pairs = [
        ("encoder.layer", "layers"),
        ("output.dense", "feed_forward.linear_2"),
        ("output.LayerNorm", "norm_2"),
        ("attention.self.query", "attention.q_proj"),
        ("attention.self.key", "attention.k_proj"),
        ("attention.self.value", "attention.v_proj"),
        ("attention.output.dense", "attention.out_proj"),
        ("attention.output.LayerNorm", "norm_1"),
        ("intermediate.dense", "feed_forward.linear_1"),
        ("embeddings.word_embeddings", "tokens"),
        ("embeddings.position_embeddings", "positions"),
        ("embeddings.token_type_embeddings", "segments"),
        ("embeddings.LayerNorm", "norm"),
    ]
    renamed = {}
    for name, value in state.items():
        name = name.removeprefix("bert.")
        if name.startswith(("pooler.", "cls.")) or name == "embeddings.position_ids":
            continue
        for old, new in pairs:
            name = name.replace(old, new)
        renamed[name] = value
    return renamed
