# mistake: the recurrent operations have d instead of d²
# hint: each step multiplies by a d × d matrix: n · d²
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost(n * n * d, 1, 1)
    if kind == "recurrent":
        return LayerCost(n * d, n, n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
