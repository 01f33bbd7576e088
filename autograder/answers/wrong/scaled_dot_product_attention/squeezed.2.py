# mistake: `squeeze()` drops dimensions of size 1, so one sequence or one query loses its place
# hint: don't squeeze: the shapes hold for sizes of 1 as well
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return (weights @ v).squeeze(0), weights.squeeze(0)
