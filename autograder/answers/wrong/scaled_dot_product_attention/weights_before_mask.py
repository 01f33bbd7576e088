# mistake: the returned weights are those from before masking
# hint: return the weights that have made the output
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    unmasked = torch.softmax(scores, dim=-1)
    weights = unmasked
    if mask is not None:
        weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).nan_to_num(0.0)
    return weights @ v, unmasked
