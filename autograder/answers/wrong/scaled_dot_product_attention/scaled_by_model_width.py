# mistake: with heads, the scores are divided by the root of the whole model's width instead of one head's
# hint: d_k is the width of one head, the last dimension of q as it comes in; the number of heads plays no part
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    heads = q.shape[1] if q.dim() == 4 else 1
    d_model = heads * q.shape[-1]
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_model)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
