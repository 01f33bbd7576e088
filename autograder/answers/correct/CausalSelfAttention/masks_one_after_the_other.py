import math

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None, d_v=None):
        super().__init__()
        d_k = d_model if d_k is None else d_k
        d_v = d_model if d_v is None else d_v
        self.query, self.key = nn.Linear(d_model, d_k, bias=False), nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, padding=None):
        scores = torch.einsum("bic,bjc->bij", self.query(x), self.key(x)) / math.sqrt(self.key.out_features)
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
        if padding is not None:
            scores = scores.masked_fill(padding.logical_not(), -math.inf)
        empty = (scores == -math.inf).all(-1, keepdim=True)
        weights = torch.softmax(scores.masked_fill(empty, 0), -1).masked_fill(empty, 0)
        return weights @ self.value(x), weights
