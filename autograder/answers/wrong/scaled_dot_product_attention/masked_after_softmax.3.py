# mistake: the weights are masked after softmax, so a row no longer adds up to 1
# hint: hide keys before softmax, in the scores: then the others share the whole weight
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, -1e9)
    return weights @ v, weights
