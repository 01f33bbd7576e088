# mistake: an unknown kind gives None
# hint: raise ValueError for any other kind
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
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return LayerCost(k * n * d * d, 1, layers)
    print("unknown kind")
