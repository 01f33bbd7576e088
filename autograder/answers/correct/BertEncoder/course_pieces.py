from collections import OrderedDict

import torch
from torch import Tensor, nn

from utils.standins import LayerNorm, MultiHeadAttention


class Sublayer(nn.Module):
    """Adds and drops; the norms stay with the layer, under their own names."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(rate)

    def forward(self, x: Tensor, added: Tensor) -> Tensor:
        return x + self.dropout(added)


class BertLayer(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout)
        self.norm_1, self.norm_2 = LayerNorm(d_model, 1e-12), LayerNorm(d_model, 1e-12)
        self.feed_forward = nn.Sequential(
            OrderedDict(
                linear_1=nn.Linear(d_model, d_ff), gelu=nn.GELU(), linear_2=nn.Linear(d_ff, d_model), drop=nn.Dropout(dropout)
            )
        )
        self.add = Sublayer(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm_1(self.add(x, self.attention(x, x, x, mask)[0]))
        return self.norm_2(x + self.feed_forward(x))


class BertEncoder(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        max_len: int = 512,
        n_segments: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.tokens = nn.Embedding(vocab_size, d_model, padding_idx=0)
        self.positions = nn.Embedding(max_len, d_model)
        self.segments = nn.Embedding(n_segments, d_model)
        for table in (self.tokens, self.positions, self.segments):
            nn.init.normal_(table.weight, std=0.02)
        self.register_buffer("places", torch.arange(max_len)[None])
        self.norm = LayerNorm(d_model, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(*(BertLayer(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)))

    def forward(self, ids: Tensor, padding: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        if ids.shape[1] > self.places.shape[1]:
            raise ValueError(f"no position for token {self.places.shape[1]}")
        segments = ids.new_zeros(ids.shape) if segments is None else segments
        x = self.tokens(ids) + self.positions(self.places[:, : ids.shape[1]]) + self.segments(segments)
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, padding)
        return x
