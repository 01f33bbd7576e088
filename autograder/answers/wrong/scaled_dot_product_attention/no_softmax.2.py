# mistake: the values are averaged with the scores, without softmax
# hint: weights are positive and add up to 1: `torch.softmax(scores, dim=-1)` makes them
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    weights = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        weights = weights.masked_fill(~mask, float("-inf"))
    return weights @ v, weights
