import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        nn.Module.__init__(self)
        if d_model % n_heads > 0:
            raise ValueError(f"{d_model} / {n_heads}")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, d_model, bias)
        self.v_proj = nn.Linear(d_model, d_model, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("scale", torch.tensor((d_model // n_heads) ** -0.5, dtype=torch.float64))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        width = q.shape[-1] // self.n_heads
        outputs, weights = [], []
        for head in range(self.n_heads):
            part = slice(head * width, (head + 1) * width)
            scores = q[..., part] @ k[..., part].transpose(1, 2) * self.scale.to(q.dtype)
            if mask is not None:
                here = mask[:, min(head, mask.shape[1] - 1)] if mask.dim() == 4 else mask
                scores = scores.masked_fill(~here, float("-inf"))
            w = scores.softmax(-1).nan_to_num(0.0)
            dropped = self.drop(w)
            outputs.append(dropped @ v[..., part])
            weights.append(dropped)
        return self.out_proj(torch.cat(outputs, -1)), torch.stack(weights, 1)
