# mistake: the first query's row of the mask is used for all queries
# hint: a mask (T_q, T_k) has a row for each query: use all of it, and let PyTorch broadcast where there is only one
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[..., :1, :]
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
