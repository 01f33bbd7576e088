import math
import torch

def mask_to_bias(mask, like):
    bias = torch.zeros(mask.shape, dtype=like.dtype, device=like.device)
    return bias.masked_fill(mask.logical_not(), torch.finfo(like.dtype).min / 2)

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        weights = torch.softmax(scores + mask_to_bias(mask, scores), dim=-1) * mask
    return weights @ v, weights
