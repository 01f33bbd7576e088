# mistake: the recurrent layer's steps in sequence are given as 1
# hint: every step waits for the one before it: n
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost(n * n * d, 1, 1)
    if kind == "recurrent":
        return LayerCost(n * d * d, 1, n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
