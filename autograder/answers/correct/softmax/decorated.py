import functools
import warnings
import torch

def keeps_dtype(function):
    @functools.wraps(function)
    def wrapper(x, dim=-1, **options):
        result = function(x, dim, **options)
        if result.dtype != x.dtype:
            warnings.warn(f"cast from {result.dtype} to {x.dtype}")
        return result.to(x.dtype)
    return wrapper

@keeps_dtype
def softmax(x, dim=-1, temperature=1.0):
    x = x / temperature
    m = x.amax(dim=dim, keepdim=True)
    alive = m > float("-inf")
    e = torch.exp(x - torch.where(alive, m, 0.0))
    total = torch.where(alive, e.sum(dim=dim, keepdim=True), 1.0)
    return e / total
