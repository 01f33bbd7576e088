import math
import warnings

import torch
from torch import nn


class Projections(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        for name, width in {"query": d_k, "key": d_k, "value": d_v}.items():
            self.add_module(name, nn.Linear(d_model, width, bias=False))


class SelfAttention(Projections):
    def __init__(self, d_model, d_k=None, d_v=None):
        if d_k is None:
            d_k = d_model
        if d_v is None:
            d_v = d_model
        if d_k > 10_000:
            warnings.warn("that is wide")
        super().__init__(d_model, d_k, d_v)

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.matmul(q / math.sqrt(q.size(-1)), k.mT)
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(~mask, -math.inf)
            scores = scores + bias
            empty = ~mask.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(empty, 0.0)
            weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
        else:
            weights = scores.softmax(dim=-1)
        return weights.matmul(v), weights
