# mistake: the function doesn't work without a mask
# hint: `mask=None` is the default, and then nothing is hidden: ask `if mask is not None:` first
import math
import torch

def scaled_dot_product_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
