# mistake: softmax is computed in float32, which loses half of the digits of float64
# hint: leave the dtype alone: softmax takes it from the scores
import math
import torch
import torch.nn.functional as F

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).nan_to_num(0.0).to(q.dtype)
    return weights @ v, weights
