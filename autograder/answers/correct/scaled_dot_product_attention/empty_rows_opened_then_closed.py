import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q.matmul(k.mT).div(math.sqrt(q.shape[-1]))
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        some = mask.any(dim=-1, keepdim=True)
        opened = mask | ~some
        weights = scores.masked_fill(opened.logical_not(), -math.inf).softmax(dim=-1)
        weights = weights * some.to(weights.dtype)
    return weights.matmul(v), weights
