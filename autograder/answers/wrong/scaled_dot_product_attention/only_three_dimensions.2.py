# mistake: works for (B, T, d) only: not without a batch, or not with heads
# hint: count dimensions from the end (`transpose(-2, -1)`) and use `@`, which takes any dimensions in front; `bmm` doesn't
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return torch.einsum("bqk,bkd->bqd", weights, v), weights
