# mistake: the fields are formulas instead of numbers
# hint: whole numbers, for the n, d and k that are given
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost("n²·d", "1", "1")
    if kind == "recurrent":
        return LayerCost("n·d²", "n", "n")
    if kind == "convolution":
        return LayerCost("k·n·d²", "1", "log_k(n)")
    raise ValueError(f"unknown kind: {kind!r}")
