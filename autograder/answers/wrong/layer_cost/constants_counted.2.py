# mistake: constant factors are counted
# hint: Table 1 leaves constant factors out: n² · d, n · d², k · n · d²
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost(2 * n * n * d, 1, 1)
    if kind == "recurrent":
        return LayerCost(2 * n * d * d, n, n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(2 * k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
