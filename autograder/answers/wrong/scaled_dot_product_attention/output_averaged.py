# mistake: the weighted values are divided by the number of keys
# hint: the weights already add up to 1: sum the weighted values, don't average them once more
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    output = (weights.unsqueeze(-1) * v.unsqueeze(-3)).mean(dim=-2)
    return output, weights
