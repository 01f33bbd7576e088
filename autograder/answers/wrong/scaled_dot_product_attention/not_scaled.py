# mistake: the scores are not divided by √d_k
# hint: divide by the square root of d_k, the last dimension of q: `scores / math.sqrt(q.shape[-1])`
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
