import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    *front, t_q, d_k = q.shape
    t_k, d_v = v.shape[-2], v.shape[-1]
    q3 = q.reshape(-1, t_q, d_k)
    k3 = k.reshape(-1, t_k, d_k)
    v3 = v.reshape(-1, t_k, d_v)
    scores = torch.bmm(q3, k3.transpose(1, 2)) / math.sqrt(d_k)
    if mask is not None:
        mask3 = mask.expand(*front, t_q, t_k).reshape(-1, t_q, t_k)
        scores = scores.masked_fill(~mask3, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    weights = torch.where(weights.isnan(), torch.zeros_like(weights), weights)
    output = torch.bmm(weights, v3)
    return output.reshape(*front, t_q, d_v), weights.reshape(*front, t_q, t_k)
