import math

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.weight * centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-12) + self.bias


class Heads(nn.Module):
    def __init__(self, d_model, n_heads, dropout):
        super().__init__()
        self.n_heads, self.dropout = n_heads, nn.Dropout(dropout)
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, x, mask=None, return_weights=True):
        q, k, v = (p(x).unflatten(2, (self.n_heads, -1)) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = torch.einsum("bihc,bjhc->bhij", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        if mask is not None:
            weights = weights * mask[:, None]
        y = torch.einsum("bhij,bjhc->bihc", self.dropout(weights), v).flatten(2)
        return (self.out_proj(y), weights) if return_weights else self.out_proj(y)


class Mlp(nn.Module):
    """The residual is part of this module."""

    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.linear_1(x)
        h = 0.5 * h * (1.0 + torch.erf(h * 0.5**0.5))
        return x + self.dropout(self.linear_2(h))


class Layer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention, self.feed_forward = Heads(d_model, n_heads, dropout), Mlp(d_model, d_ff, dropout)
        self.norm_1, self.norm_2, self.dropout = Norm(d_model), Norm(d_model), nn.Dropout(dropout)

    def forward(self, x, mask):
        attended, self.weights = self.attention(x, mask)
        x = self.norm_1(self.dropout(attended) + x)
        return self.norm_2(self.feed_forward(x))


class BertEncoder(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, max_len=512, n_segments=2, dropout=0.1, verbose=False):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("heads don't fit")
        self.d_model, self.max_len = d_model, max_len
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_len, d_model)
        self.segments = nn.Embedding(n_segments, d_model)
        self.norm, self.dropout = Norm(d_model), nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))
        if verbose:
            print("made", n_layers, "layers")

    def embed(self, ids, segments):
        summed = self.tokens(ids) + self.positions(torch.arange(ids.shape[-1]).expand_as(ids))
        return self.norm(summed + self.segments(torch.zeros_like(ids) if segments is None else segments))

    def forward(self, ids, padding=None, segments=None):
        if ids.shape[-1] > self.max_len:
            raise ValueError("no positions left")
        x = self.dropout(self.embed(ids, segments))
        for layer in self.layers:
            x = layer(x, padding)
        return x
