# mistake: the weights of a query that may attend to nothing are put right too late, its output stays wrong
# hint: put the weights right first, and make the output from them
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ v
    return output, torch.nan_to_num(weights)
