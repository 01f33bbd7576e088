# mistake: the fields come in another order
# hint: operations, sequential, path, in this order
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost(1, 1, n * n * d)
    if kind == "recurrent":
        return LayerCost(n, n, n * d * d)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(1, layers, k * n * d * d)
    raise ValueError(f"unknown kind: {kind!r}")
