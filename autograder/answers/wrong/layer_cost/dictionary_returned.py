# mistake: a dictionary is returned
# hint: return a `LayerCost(operations, sequential, path)`
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return dict(operations=n * n * d, sequential=1, path=1)
    if kind == "recurrent":
        return dict(operations=n * d * d, sequential=n, path=n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return dict(operations=k * n * d * d, sequential=1, path=layers)
    raise ValueError(f"unknown kind: {kind!r}")
