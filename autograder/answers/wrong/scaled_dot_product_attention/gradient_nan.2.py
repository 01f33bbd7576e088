# mistake: the numbers are right, but the gradient of a query that may attend to nothing is NaN
# hint: `nan_to_num` repairs the result, not the way back: choose with `masked_fill` before softmax rather than adding −∞, and don't divide by 0
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = (weights / weights.sum(dim=-1, keepdim=True)).nan_to_num(0.0)
    return weights @ v, weights
