# mistake: the logarithm is nudged by a tiny number before it is rounded up, which is right only for numbers that floats can hold
# hint: count in whole numbers: multiply by k until n is reached
import math
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
        layers = math.ceil(round(math.log(n, k), 10))
        return LayerCost(k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
