# mistake: works for (B, T, d) only: not without a batch, or not with heads
# hint: count dimensions from the end (`transpose(-2, -1)`) and use `@`, which takes any dimensions in front; `bmm` doesn't
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    batch, t_q, d_k = q.shape
    scores = q @ k.transpose(1, 2) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
