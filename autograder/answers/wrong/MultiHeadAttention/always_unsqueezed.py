# mistake: every mask gets a dimension for the heads, also one of two or four dimensions
# hint: only three dimensions need one more: two broadcast by themselves, four are complete
import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model has to be divisible by n_heads")
        self.d_model, self.n_heads, self.d_k = d_model, n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        B, T_q, _ = query.shape
        T_k = key.shape[1]
        q = self.q_proj(query).reshape(B, T_q, self.n_heads, self.d_k).transpose(1, 2)
        k = self.k_proj(key).reshape(B, T_k, self.n_heads, self.d_k).transpose(1, 2)
        v = self.v_proj(value).reshape(B, T_k, self.n_heads, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            mask = mask.unsqueeze(1)
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        output = self.dropout(weights) @ v
        output = output.transpose(1, 2).reshape(B, T_q, self.d_model)
        return self.out_proj(output), weights
