# mistake: one packed layer stands for all three
# hint: it computes the same, but here the three are layers of their own: query, key and value
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
        self.sizes = [d_k, d_k, d_v]
        self.qkv = nn.Linear(d_model, sum(self.sizes), bias=False)

    def forward(self, x, mask=None):
        return attend(*self.qkv(x).split(self.sizes, dim=-1), mask)
