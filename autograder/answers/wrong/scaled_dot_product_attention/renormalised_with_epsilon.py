# mistake: the weights are masked after softmax and divided by their sum plus a small number, so they don't quite add up to 1
# hint: hide keys in the scores, before softmax: then nothing has to be put right afterwards but rows without any key
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-6)
    return weights @ v, weights
