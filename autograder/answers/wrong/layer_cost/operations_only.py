# mistake: only the operations are returned
# hint: return a `LayerCost(operations, sequential, path)`
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return (n * n * d)
    if kind == "recurrent":
        return (n * d * d)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return (k * n * d * d)
    raise ValueError(f"unknown kind: {kind!r}")
