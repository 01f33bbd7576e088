import math
import torch

def _attend(q, k, v, mask):
    scores = q @ k.T / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).nan_to_num(0.0)
    return weights @ v, weights

def scaled_dot_product_attention(q, k, v, mask=None):
    shape = (*q.shape[:-1], k.shape[-2])
    mask = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    function = _attend
    for _ in q.shape[:-2]:
        function = torch.vmap(function)
    return function(q, k, v, mask)
