# mistake: the mask is read the other way round: what may be attended is hidden
# hint: True means "may be attended": hide where the mask is False, with `~mask`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = torch.where(mask, float("-inf"), scores)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = torch.where(mask, 0.0, weights)
    return weights @ v, weights
