import numpy as np
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    norm = torch.logsumexp(scores, dim=-1, keepdim=True)
    norm = norm.masked_fill(norm == float("-inf"), 0)
    weights = torch.exp(scores - norm)
    return torch.matmul(weights, v), weights
