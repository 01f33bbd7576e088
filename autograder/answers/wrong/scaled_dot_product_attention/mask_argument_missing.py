# mistake: the function takes no mask
# hint: keep the stub's signature: `def scaled_dot_product_attention(q, k, v, mask=None)`
import math
import torch

def scaled_dot_product_attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
