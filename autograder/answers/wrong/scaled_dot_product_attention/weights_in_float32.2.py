# mistake: softmax is computed in float32, which loses half of the digits of float64
# hint: leave the dtype alone: softmax takes it from the scores
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q.float() @ k.float().transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0).type_as(v)
    return weights @ v, weights
