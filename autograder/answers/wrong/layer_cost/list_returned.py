# mistake: a list is returned
# hint: return a `LayerCost(operations, sequential, path)`
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return list((n * n * d, 1, 1))
    if kind == "recurrent":
        return list((n * d * d, n, n))
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return list((k * n * d * d, 1, layers))
    raise ValueError(f"unknown kind: {kind!r}")
