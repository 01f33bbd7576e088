# mistake: the scores are divided by half of d_k
# hint: powers come before quotients: `d_k ** 1/2` is d_k / 2; write `d_k ** 0.5` or `math.sqrt(d_k)`
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.shape[-1]
    scores = q @ k.transpose(-2, -1) / (d_k ** 1/2)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
