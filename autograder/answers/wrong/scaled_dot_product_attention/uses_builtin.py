# mistake: PyTorch's own attention does the work
# hint: write the formula yourself: scores, scale, mask, softmax, average; `torch.softmax` is allowed
import math
import torch
import torch.nn.functional as F

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), weights
