# mistake: infinity is multiplied by 0, which is NaN
# hint: a product can't hide: choose with `masked_fill(~mask, …)` or `torch.where`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + (~mask) * float("-inf")
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
