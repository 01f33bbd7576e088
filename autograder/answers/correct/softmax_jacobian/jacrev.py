import torch
from torch.func import jacrev, vmap

def _slope(p):
    return jacrev(lambda x: p * (x - p @ x))(torch.zeros_like(p))

def softmax_jacobian(p):
    function = _slope
    for _ in range(p.dim() - 1):
        function = vmap(function)
    return function(p)
