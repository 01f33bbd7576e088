from dataclasses import dataclass
from itertools import count

@dataclass(frozen=True)
class LayerCost:
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    if kind not in ("self_attention", "recurrent", "convolution"):
        raise ValueError(f"unknown kind of layer: {kind}")
    if kind == "self_attention":
        return LayerCost(d * pow(n, 2), 1, 1)
    if kind == "recurrent":
        return LayerCost(n * pow(d, 2), n, n)
    return LayerCost(k * n * d**2, 1, next(layers for layers in count() if k**layers >= n))
