# mistake: the shapes of the product don't fit, since the last two dimensions of k aren't the ones that are exchanged
# hint: exchange the last two dimensions of k and only those, counted from the end: `k.transpose(-2, -1)`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(0, 1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
