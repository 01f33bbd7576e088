import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    """A further column takes the whole weight where no real key is open, and is cut off afterwards."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        mask = mask.expand(scores.shape)
        scores = scores.masked_fill(~mask, float("-inf"))
        nothing = torch.zeros_like(scores[..., :1]).masked_fill(mask.any(-1, keepdim=True), float("-inf"))
        weights = torch.softmax(torch.cat([scores, nothing], dim=-1), dim=-1)[..., :-1]
    return weights @ v, weights
