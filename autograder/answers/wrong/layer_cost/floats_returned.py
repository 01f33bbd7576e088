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
        return LayerCost(float(n * n * d), 1.0, 1.0)
    if kind == "recurrent":
        return LayerCost(float(n * d * d), float(n), float(n))
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(float(k * n * d * d), 1.0, float(layers))
    raise ValueError(f"unknown kind: {kind!r}")
