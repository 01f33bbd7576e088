# mistake: the fields are tensors
# hint: plain whole numbers (int)
import torch
from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    n, d = torch.tensor(n), torch.tensor(d)
    if kind == "self_attention":
        return LayerCost(n * n * d, torch.tensor(1), torch.tensor(1))
    if kind == "recurrent":
        return LayerCost(n * d * d, n, n)
    if kind == "convolution":
        layers = 0
        while k ** layers < n:
            layers += 1
        return LayerCost(k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind: {kind!r}")
