# mistake: a query that may attend to nothing attends to everything
# hint: a row of the mask that is all False means weights 0, not a row without a mask
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask | ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
