# mistake: hidden scores are filled with plus infinity
# hint: e to the power of −∞ is 0: mind the sign, `float("-inf")`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, 1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
