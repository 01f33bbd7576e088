# mistake: any unknown kind is taken for a convolution
# hint: check for the three kinds, and raise ValueError for any other
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
    layers = 0
    while k**layers < n:
        layers += 1
    return LayerCost(k * n * d * d, 1, layers)
