import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads must be 0")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.last_weights = None

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            torch.stack(layer(x).chunk(self.n_heads, -1), 1)
            for layer, x in zip((self.q_proj, self.k_proj, self.v_proj), (query, key, value))
        )
        scores = q.mul(q.shape[-1] ** -0.25) @ k.mul(k.shape[-1] ** -0.25).mT
        if mask is not None:
            mask = (mask if mask.dim() != 3 else mask[:, None]).expand_as(scores)
            scores = scores.masked_fill(~mask, -float("inf"))
        weights = torch.nan_to_num(scores.softmax(-1))
        self.last_weights = weights.detach()
        mixed = self.dropout(weights) @ v
        blocks = self.out_proj.weight.chunk(self.n_heads, dim=1)
        output = sum(mixed[:, head] @ block.T for head, block in enumerate(blocks))
        if self.out_proj.bias is not None:
            output = output + self.out_proj.bias
        return output, weights
