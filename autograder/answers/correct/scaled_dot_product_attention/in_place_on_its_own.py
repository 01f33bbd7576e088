import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    scores /= math.sqrt(q.size(-1))
    if mask is not None:
        mask = mask.expand_as(scores)
        scores[~mask] = float("-inf")
    weights = torch.softmax(scores, dim=-1).clone()
    if mask is not None:
        weights[~mask] = 0
    return weights @ v, weights
