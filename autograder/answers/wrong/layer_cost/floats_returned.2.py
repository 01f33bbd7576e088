# mistake: the fields are floats
# hint: whole numbers: `n ** 2`, `//` and no `math.pow`, `/` or `math.log`
import math
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return LayerCost(math.pow(n, 2) * d, 1, 1)
    if kind == "recurrent":
        return LayerCost(n * math.pow(d, 2), n, n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(k * n * math.pow(d, 2), 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
