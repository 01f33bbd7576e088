# mistake: a query that may attend to nothing gets NaN
# hint: softmax of nothing but −∞ is 0/0: put zeros there, `torch.nan_to_num(weights)` or a `masked_fill` after softmax
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
