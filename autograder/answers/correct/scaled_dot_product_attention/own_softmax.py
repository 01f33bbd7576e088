import math
import torch

def _softmax(x):
    m = x.amax(dim=-1, keepdim=True)
    m = m.masked_fill(m == float("-inf"), 0)
    e = torch.exp(x - m)
    s = e.sum(dim=-1, keepdim=True)
    return e / s.masked_fill(s == 0, 1)

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = _softmax(scores)
    return weights @ v, weights
