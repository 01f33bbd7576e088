import re
import warnings

TABLE = [
    (r"embeddings\.word_embeddings\.(weight)", r"tokens.\1"),
    (r"embeddings\.position_embeddings\.(weight)", r"positions.\1"),
    (r"embeddings\.token_type_embeddings\.(weight)", r"segments.\1"),
    (r"embeddings\.LayerNorm\.(weight|bias)", r"norm.\1"),
    (r"encoder\.layer\.(\d+)\.attention\.self\.(q|k|v)(?:uery|ey|alue)\.(weight|bias)", r"layers.\1.attention.\2_proj.\3"),
    (r"encoder\.layer\.(\d+)\.attention\.output\.dense\.(weight|bias)", r"layers.\1.attention.out_proj.\2"),
    (r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.(weight|bias)", r"layers.\1.norm_1.\2"),
    (r"encoder\.layer\.(\d+)\.intermediate\.dense\.(weight|bias)", r"layers.\1.feed_forward.linear_1.\2"),
    (r"encoder\.layer\.(\d+)\.output\.dense\.(weight|bias)", r"layers.\1.feed_forward.linear_2.\2"),
    (r"encoder\.layer\.(\d+)\.output\.LayerNorm\.(weight|bias)", r"layers.\1.norm_2.\2"),
]


def translated(name):
    for pattern, new in TABLE:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, new, name)
    return None


def rename_checkpoint(state):
    result, strange = {}, []
    for name in state:
        short = re.sub(r"^bert\.", "", name)
        if re.match(r"(pooler|cls)\.", short) or short == "embeddings.position_ids":
            warnings.warn(f"left out: {name}")
            continue
        new = translated(short)
        if new:
            result[new] = state[name]
        else:
            strange.append(name)
    depth = max((int(new.split(".")[1]) for new in result if new.startswith("layers.")), default=-1) + 1
    parts = [f"attention.{p}_proj" for p in ("q", "k", "v", "out")] + ["norm_1", "norm_2"]
    parts += ["feed_forward.linear_1", "feed_forward.linear_2"]
    needed = ["tokens.weight", "positions.weight", "segments.weight", "norm.weight", "norm.bias"]
    needed += [f"layers.{n}.{part}.{end}" for n in range(depth) for part in parts for end in ("weight", "bias")]
    lacking = sorted(set(needed) - result.keys())
    if strange or lacking:
        raise KeyError("unknown names: " + ", ".join(strange) + "\nmissing names: " + ", ".join(lacking))
    return result
