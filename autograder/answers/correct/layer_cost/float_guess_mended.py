import math
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def exact_log(n, k):
    guess = max(0, round(math.log(n) / math.log(k)) - 2)
    while k**guess < n:
        guess += 1
    return guess

def layer_cost(kind, n, d, k=3, verbose=False):
    if verbose:
        print(kind, n, d, k)
    if kind == "self_attention":
        return LayerCost(n * n * d, 1, 1)
    elif kind == "recurrent":
        return LayerCost(n * d * d, n, n)
    elif kind == "convolution":
        return LayerCost(k * n * d * d, 1, exact_log(n, k))
    else:
        raise ValueError("self_attention, recurrent or convolution, please")
