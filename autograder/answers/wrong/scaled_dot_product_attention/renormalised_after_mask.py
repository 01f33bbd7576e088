# mistake: the mask comes after softmax: a hidden key with a large score takes all the weight first, and nothing is left to share
# hint: hide keys before softmax, by setting their scores to −∞; then no hidden score can drown the others
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        total = weights.sum(dim=-1, keepdim=True)
        weights = weights / total.masked_fill(total == 0, 1)
    return weights @ v, weights
