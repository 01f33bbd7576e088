# mistake: only the token embeddings are normalised, and the others are added after that
# hint: add all three embeddings first, then normalise the sum
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, dropout):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, padding):
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if padding is not None:
            scores = scores.masked_fill(~padding.unsqueeze(1), -math.inf)
        weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
        heads = self.dropout(weights) @ v
        return self.out_proj(heads.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.activation = nn.GELU()

    def forward(self, x):
        return self.linear_2(self.activation(self.linear_1(x)))


class Layer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention = Attention(d_model, n_heads, dropout)
        self.norm_1 = nn.LayerNorm(d_model, eps=1e-12)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_2 = nn.LayerNorm(d_model, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding):
        x = self.norm_1(x + self.dropout(self.attention(x, padding)))
        x = self.norm_2(x + self.dropout(self.feed_forward(x)))
        return x


class BertEncoder(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, max_len=512, n_segments=2, dropout=0.1):
        super().__init__()
        self.d_model = d_model
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_len, d_model)
        self.segments = nn.Embedding(n_segments, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([Layer(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, ids, padding=None, segments=None):
        T = ids.shape[1]
        if T > self.positions.num_embeddings:
            raise ValueError(f"{T} tokens are too many")
        if segments is None:
            segments = torch.zeros_like(ids)
        places = torch.arange(T, device=ids.device)
        x = self.norm(self.tokens(ids)) + self.positions(places) + self.segments(segments)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, padding)
        return x
