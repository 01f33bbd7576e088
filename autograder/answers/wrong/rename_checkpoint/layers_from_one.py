# mistake: layers are counted from 1
# hint: the first layer is layers.0
import re

PARTS = {
    "attention.self.query": "attention.q_proj",
    "attention.self.key": "attention.k_proj",
    "attention.self.value": "attention.v_proj",
    "attention.output.dense": "attention.out_proj",
    "attention.output.LayerNorm": "norm_1",
    "intermediate.dense": "feed_forward.linear_1",
    "output.dense": "feed_forward.linear_2",
    "output.LayerNorm": "norm_2",
}


def rename_checkpoint(state):
    state = {name.removeprefix("bert."): value for name, value in state.items()}
    wanted = {
        "embeddings.word_embeddings.weight": "tokens.weight",
        "embeddings.position_embeddings.weight": "positions.weight",
        "embeddings.token_type_embeddings.weight": "segments.weight",
        "embeddings.LayerNorm.weight": "norm.weight",
        "embeddings.LayerNorm.bias": "norm.bias",
    }
    layers = set()
    for name in state:
        match = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", name)
        if match and match[2] in PARTS:
            layers.add(int(match[1]))
    for n in range(max(layers, default=-1) + 1):
        for theirs, ours in PARTS.items():
            for kind in ("weight", "bias"):
                wanted[f"encoder.layer.{n}.{theirs}.{kind}"] = f"layers.{n + 1}.{ours}.{kind}"
    rest = [name for name in state if not name.startswith(("pooler.", "cls.")) and name != "embeddings.position_ids"]
    unknown = [name for name in rest if name not in wanted]
    missing = [name for name in wanted if name not in state]
    if unknown or missing:
        raise KeyError(f"unknown: {unknown}, missing: {missing}")
    return {ours: state[theirs] for theirs, ours in wanted.items()}
