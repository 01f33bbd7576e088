# mistake: the mask of the first sequence is used for the whole batch
# hint: a mask (B, 1, T_k) has one row for each sequence: let it broadcast, don't index it
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        while mask.dim() > 2:
            mask = mask[0]
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
