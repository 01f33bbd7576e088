# mistake: the mask has to have the full shape of the scores; smaller ones aren't broadcast
# hint: indexing with a mask doesn't broadcast: use `masked_fill` or `torch.where`
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores[~mask] = float("-inf")
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
