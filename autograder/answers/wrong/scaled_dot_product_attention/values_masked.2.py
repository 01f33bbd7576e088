# mistake: the values are masked instead of the scores, so hidden keys still take their share of the weights
# hint: hide keys in the scores, before softmax; v stays as it is
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        return (weights * mask) @ v, weights
    return weights @ v, weights
