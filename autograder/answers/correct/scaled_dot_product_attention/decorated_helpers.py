import functools
import math
import warnings
import torch

def checks_shapes(function):
    @functools.wraps(function)
    def wrapper(q, k, v, mask=None, **options):
        if q.shape[-1] != k.shape[-1]:
            raise ValueError("q and k need the same width")
        if mask is not None and not mask.any():
            warnings.warn("nothing may be attended to")
        return function(q, k, v, mask, **options)
    return wrapper

def compare(q, k):
    return torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.shape[-1])

def hide(scores, mask):
    return scores if mask is None else torch.where(mask, scores, float("-inf"))

def normalise(scores):
    empty = torch.isneginf(scores).all(dim=-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0), dim=-1).masked_fill(empty, 0)

@checks_shapes
def scaled_dot_product_attention(q, k, v, mask=None, return_scores=False):
    scores = hide(compare(q, k), mask)
    weights = normalise(scores)
    results = (weights @ v, weights)
    return (*results, scores) if return_scores else results
