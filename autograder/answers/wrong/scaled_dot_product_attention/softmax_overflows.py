# mistake: `exp` is taken of the scores as they are, and overflows to infinity or vanishes to 0
# hint: subtract each row's largest score first, or use `torch.softmax`, which is allowed here
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    e = torch.exp(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]))
    if mask is not None:
        e = e * mask
    total = e.sum(dim=-1, keepdim=True)
    weights = e / total.masked_fill(total == 0, 1)
    return weights @ v, weights
