# mistake: the convolution's path is given as n
# hint: it takes ⌈log_k n⌉ layers for the ends to meet
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost(n * n * d, 1, 1)
    if kind == "recurrent":
        return LayerCost(n * d * d, n, n)
    if kind == "convolution":
        return LayerCost(k * n * d * d, 1, n)
    raise ValueError(f"unknown kind: {kind!r}")
