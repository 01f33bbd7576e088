# mistake: the layers are called W_q, W_k, W_v and W_o
# hint: the check loads weights by name: q_proj, k_proj, v_proj, out_proj
import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model has to be divisible by n_heads")
        self.d_model, self.n_heads, self.d_k = d_model, n_heads, d_model // n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        B, T_q, _ = query.shape
        T_k = key.shape[1]
        q = self.W_q(query).reshape(B, T_q, self.n_heads, self.d_k).transpose(1, 2)
        k = self.W_k(key).reshape(B, T_k, self.n_heads, self.d_k).transpose(1, 2)
        v = self.W_v(value).reshape(B, T_k, self.n_heads, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        output = self.dropout(weights) @ v
        output = output.transpose(1, 2).reshape(B, T_q, self.d_model)
        return self.W_o(output), weights
