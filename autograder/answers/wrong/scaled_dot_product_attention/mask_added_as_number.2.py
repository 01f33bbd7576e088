# mistake: True and False are added to the scores as 1 and 0, which hides nothing
# hint: a boolean mask chooses: `masked_fill(~mask, …)` or `torch.where`; adding works for masks made of 0 and −∞ only
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask.any(dim=-1, keepdim=True)
    return weights @ v, weights
