# mistake: the weights are divided by √d_k, after softmax, instead of the scores before it
# hint: the scale belongs inside softmax, on the scores: each row of weights adds up to 1
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0) / math.sqrt(q.shape[-1])
    return weights @ v, weights
