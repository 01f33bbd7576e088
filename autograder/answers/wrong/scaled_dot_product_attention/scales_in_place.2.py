# mistake: q itself is divided, so the caller's tensor changes
# hint: `q = q / …` makes a new tensor; `q /= …` and methods that end in `_` write into the one that was given
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    with torch.no_grad():
        q.div_(math.sqrt(q.shape[-1]))
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
