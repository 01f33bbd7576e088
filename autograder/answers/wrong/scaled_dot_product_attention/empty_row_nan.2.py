# mistake: a query that may attend to nothing gets NaN
# hint: softmax of nothing but −∞ is 0/0: put zeros there, `torch.nan_to_num(weights)` or a `masked_fill` after softmax
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        bias = torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
        scores = scores + bias
    weights = scores.softmax(-1)
    return weights @ v, weights
