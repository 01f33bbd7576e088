import warnings
from typing import NamedTuple

class UnknownLayer(ValueError):
    pass

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int = 1

def layer_cost(kind, n, d, k=3):
    square = {"self_attention": n, "recurrent": d, "convolution": d}.get(kind)
    if square is None:
        raise UnknownLayer(kind)
    operations = n * d * square
    if kind == "self_attention":
        return LayerCost(operations, 1)
    if kind == "recurrent":
        return LayerCost(operations, n, n)
    if n > 10**9:
        warnings.warn("long")
    digits, rest = 0, n - 1
    while rest:
        rest //= k
        digits += 1
    return LayerCost(k * operations, 1, digits)
