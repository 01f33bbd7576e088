# mistake: k is reshaped to (d_k, T_k), which cuts the numbers anew instead of exchanging rows and columns
# hint: `reshape` and `view` keep the order in memory; to exchange two dimensions use `transpose(-2, -1)`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    *front, t_k, d_k = k.shape
    scores = q @ k.reshape(*front, d_k, t_k) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
