import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True, verbose=False):
        super().__init__()
        if d_model // n_heads * n_heads != d_model:
            raise ValueError("heads must divide the width")
        self.n_heads, self.dropout = n_heads, dropout
        for name in ("q", "k", "v", "out"):
            layer = nn.Linear(d_model, d_model, bias=bias)
            nn.init.xavier_uniform_(layer.weight)
            self.add_module(f"{name}_proj", layer)

    def forward(self, query, key, value, mask=None, return_scores=False):
        q = self.q_proj(query).unflatten(-1, (self.n_heads, -1))
        k = self.k_proj(key).unflatten(-1, (self.n_heads, -1))
        v = self.v_proj(value).unflatten(-1, (self.n_heads, -1))
        scores = torch.einsum("bqhc,bkhc->bhqk", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            while mask.dim() < 4:
                mask = mask.unsqueeze(0) if mask.dim() < 3 else mask.unsqueeze(1)
            empty = ~mask.any(-1, keepdim=True)
            scores = scores.masked_fill(~(mask | empty), -torch.inf)
        weights = F.softmax(scores, -1)
        if mask is not None:
            weights = weights.masked_fill(empty, 0)
        dropped = F.dropout(weights, self.dropout, self.training)
        return self.out_proj(torch.einsum("bhqk,bkhc->bqhc", dropped, v).flatten(2)), weights
