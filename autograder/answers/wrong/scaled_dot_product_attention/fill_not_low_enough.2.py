# mistake: hidden scores get a number that very negative real scores lie below
# hint: fill with −∞ or with the smallest number there is, `torch.finfo(scores.dtype).min`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
