# mistake: no gradient flows back through the weights to q and k
# hint: stay with tensor operations: no `.detach()`, `.data`, numpy or `torch.no_grad()`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    k = k.data
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
