# mistake: at exact powers of k there is one layer too many
# hint: stop as soon as the reach *equals* n: `while reach < n`
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
        layers, rest = 0, n
        while rest > 0:
            rest //= k
            layers += 1
        return LayerCost(k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
