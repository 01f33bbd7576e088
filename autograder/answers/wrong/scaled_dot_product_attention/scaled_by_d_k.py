# mistake: the scores are divided by d_k instead of by its root
# hint: divide once, by the square root of d_k: not by d_k, and not twice (q and the scores, or q and k)
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.shape[-1]
    scores = q @ k.transpose(-2, -1) / d_k
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
