# mistake: softmax runs over the first dimension, the batch
# hint: name the dimension, `dim=-1`: without it, PyTorch chooses, and for three dimensions it takes the first
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=0)
    return weights @ v, weights
