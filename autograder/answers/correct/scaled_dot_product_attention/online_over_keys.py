import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    """Key after key with a running maximum; the weights follow once the last sum is known."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    lowest = torch.finfo(scores.dtype).min
    top = torch.full_like(scores[..., :1], lowest)
    total = torch.zeros_like(top)
    output = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for j in range(k.shape[-2]):
        s = scores[..., j : j + 1]
        new_top = torch.maximum(top, s.detach())
        shrink, new = torch.exp(top - new_top), torch.exp(s - new_top)
        total = total * shrink + new
        output = output * shrink + new * v[..., j : j + 1, :]
        top = new_top
    total = total.masked_fill(total == 0, 1)
    return output / total, torch.exp(scores - top) / total
