# mistake: the scores are divided by the root of the width of the values
# hint: d_k is the width of queries and keys, `q.shape[-1]`; values may have another width
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    d = v.shape[-1]
    scores = q @ k.transpose(-2, -1) / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
