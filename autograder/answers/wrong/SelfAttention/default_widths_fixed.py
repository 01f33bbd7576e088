# mistake: left-out widths are a fixed number
# hint: the default is None, and None means d_model
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
    def __init__(self, d_model, d_k=64, d_v=64):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, mask=None):
        return attend(self.query(x), self.key(x), self.value(x), mask)
