import math
import warnings

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("uneven heads")
        warnings.warn("building heads")
        self.n_heads = n_heads
        self.p = dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def _heads(self, x):
        return torch.cat(x.chunk(self.n_heads, dim=-1), dim=0)  # (H·B, T, d_k)

    def forward(self, query, key, value, mask=None):
        B, H = query.shape[0], self.n_heads
        q, k, v = self._heads(self.q_proj(query)), self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        scores = scores.reshape(H, B, *scores.shape[1:]).transpose(0, 1)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(torch.logical_not(mask), -1e30)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask
        kept = weights
        if self.training and self.p > 0:
            kept = weights * (torch.rand_like(weights) >= self.p) / (1 - self.p)
        v = v.reshape(H, B, *v.shape[1:]).transpose(0, 1)
        return self.out_proj(torch.cat((kept @ v).unbind(1), dim=-1)), weights
