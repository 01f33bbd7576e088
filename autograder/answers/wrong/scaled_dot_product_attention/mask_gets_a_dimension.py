# mistake: the mask gets a dimension that it doesn't need, and lines up with the wrong ones
# hint: take the mask as it comes: it broadcasts from the right, and a dimension for heads is the caller's business
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask.unsqueeze(1)
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
