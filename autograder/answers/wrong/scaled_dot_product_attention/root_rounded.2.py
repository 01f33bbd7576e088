# mistake: the square root of d_k is rounded to a whole number
# hint: keep the root as it is: `math.sqrt(d_k)`, without `int`, `//` or `isqrt`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / round(q.shape[-1] ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
