# mistake: the scores are divided by d_k instead of by its root
# hint: divide once, by the square root of d_k: not by d_k, and not twice (q and the scores, or q and k)
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    root = math.sqrt(q.size(-1))
    q = q / root
    scores = torch.matmul(q, k.transpose(-2, -1)) / root
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return torch.matmul(weights, v), weights
