import torch

def scaled_dot_product_attention(q, k, v, mask=None, *, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    root = scale ** 0.5
    scores = (q * root) @ (k * root).transpose(-1, -2)
    if mask is not None:
        print("masked:", int((~mask).sum()), "entries")
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1).nan_to_num(nan=0.0)
    return weights @ v, weights
