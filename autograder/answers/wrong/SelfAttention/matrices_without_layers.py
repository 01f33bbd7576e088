# mistake: the three are plain parameters, not layers
# hint: use `nn.Linear(…, bias=False)`: its weight is (out, in), and its name `query.weight`
import math

import torch
from torch import nn


def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None, d_v=None):
        super().__init__()
        d_k = d_model if d_k is None else d_k
        d_v = d_model if d_v is None else d_v
        self.query = nn.Parameter(torch.randn(d_model, d_k))
        self.key = nn.Parameter(torch.randn(d_model, d_k))
        self.value = nn.Parameter(torch.randn(d_model, d_v))

    def forward(self, x, mask=None):
        return attend(x @ self.query, x @ self.key, x @ self.value, mask)
