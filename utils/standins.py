"""PyTorch's own pieces behind the course's signatures: what a chapter works with where an earlier answer is missing.

The built-ins have other signatures: `F.scaled_dot_product_attention` returns no weights, and `nn.MultiheadAttention` packs its
parameters and gives NaN for a query with nothing to attend to. What stands here adapts them, and computes nothing by hand.
"""

from collections.abc import Callable
from functools import wraps

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.catalogue import find_exercise
from utils.shortcuts import shortcuts_allowed


def _allowed_after(exercise: str) -> Callable:
    chapter = find_exercise(exercise).chapter

    def wrap(function: Callable) -> Callable:
        @wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            with shortcuts_allowed(chapter):
                return function(*args, **kwargs)

        return call

    return wrap


def _with_open_rows(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Open the rows of a mask that are closed entirely, and say which were open before."""
    is_open = mask.any(-1, keepdim=True)
    return mask | ~is_open, is_open


@_allowed_after("softmax")
def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Give `torch.softmax`, with zeros for a slice of nothing but −∞."""
    return torch.softmax(x, dim).nan_to_num(0.0)


@_allowed_after("padding_mask")
def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Give (B, 1, max_len), True at real tokens, padded by PyTorch."""
    rows = [torch.ones(int(length), dtype=torch.bool, device=lengths.device) for length in [*lengths, max_len]]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)[:-1].unsqueeze(1)


@_allowed_after("scaled_dot_product_attention")
def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Give `F.scaled_dot_product_attention` and its weights: (..., T_q, d_v) and (..., T_q, T_k)."""
    identity = torch.eye(k.shape[-2], dtype=k.dtype, device=k.device).expand(*k.shape[:-1], k.shape[-2])
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, identity)
    opened, is_open = _with_open_rows(mask)
    opened = opened.expand(*q.shape[:-1], k.shape[-2])
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=opened)
    return output * is_open, F.scaled_dot_product_attention(q, k, identity, attn_mask=opened) * is_open


@_allowed_after("causal_mask")
def causal_mask(T: int, device: torch.device | str | None = None) -> Tensor:
    """Give (T, T), True where a position may attend, from `nn.Transformer`'s own mask of −∞."""
    return nn.Transformer.generate_square_subsequent_mask(T, device=device) == 0


class SelfAttention(nn.Module):
    """Single-head self-attention with the contract's parameters around PyTorch's attention."""

    def __init__(self, d_model: int, d_k: int | None = None, d_v: int | None = None) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_k or d_model, bias=False)
        self.key = nn.Linear(d_model, d_k or d_model, bias=False)
        self.value = nn.Linear(d_model, d_v or d_model, bias=False)

    @_allowed_after("SelfAttention")
    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from x (B, T, d_model) to itself: (B, T, d_v) and (B, T, T)."""
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), mask)


class CausalSelfAttention(SelfAttention):
    """Self-attention that never looks ahead."""

    @_allowed_after("CausalSelfAttention")
    def forward(self, x: Tensor, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from x (B, T, d_model) to what came before; padding is (B, 1, T)."""
        mask = causal_mask(x.shape[1], device=x.device)
        return super().forward(x, mask if padding is None else mask & padding)


class MultiHeadAttention(nn.Module):
    """`F.multi_head_attention_forward` with the contract's parameters, masks and rows of zeros."""

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} isn't divisible by n_heads={n_heads}")
        self.n_heads, self.p = n_heads, dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    @_allowed_after("MultiHeadAttention")
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend with every head: (B, T_q, d_model) and weights (B, H, T_q, T_k)."""
        batch, t_q, d_model = query.shape
        projections = (self.q_proj, self.k_proj, self.v_proj)
        biases = [layer.bias for layer in projections]
        closed, is_open = None, None
        if mask is not None:
            per_head = mask if mask.dim() == 4 else mask.unsqueeze(-3)
            opened, is_open = _with_open_rows(per_head.expand(batch, self.n_heads, t_q, key.shape[1]))
            closed = ~opened.flatten(0, 1)
        identity = torch.eye(d_model, dtype=query.dtype, device=query.device)
        merged, weights = F.multi_head_attention_forward(
            *(tensor.transpose(0, 1) for tensor in (query, key, value)),
            embed_dim_to_check=d_model,
            num_heads=self.n_heads,
            in_proj_weight=None,
            in_proj_bias=None if biases[0] is None else torch.cat(biases),
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=self.p,
            out_proj_weight=identity,
            out_proj_bias=None,
            training=self.training,
            attn_mask=closed,
            use_separate_proj_weight=True,
            q_proj_weight=self.q_proj.weight,
            k_proj_weight=self.k_proj.weight,
            v_proj_weight=self.v_proj.weight,
            average_attn_weights=False,
        )
        merged = merged.transpose(0, 1)
        if is_open is not None:
            weights = weights * is_open
            width = d_model // self.n_heads
            merged = merged * is_open.squeeze(-1).transpose(1, 2).repeat_interleave(width, dim=-1)
        return self.out_proj(merged), weights


class TransformerEmbedding(nn.Module):
    """`nn.Embedding` for tokens and, since PyTorch has no sinusoids, for positions too: these are learned."""

    def __init__(self, vocab_size: int, d_model: int, max_len: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids (B, T) to (B, T, d_model)."""
        if ids.shape[1] > self.positions.num_embeddings:
            raise ValueError(f"T={ids.shape[1]} is more than max_len={self.positions.num_embeddings}")
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.positions(places))


class LayerNorm(nn.LayerNorm):
    """PyTorch's own layer norm over the last dimension."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__(d_model, eps=eps)

    @_allowed_after("LayerNorm")
    def forward(self, x: Tensor) -> Tensor:
        """Normalise x (..., d_model)."""
        return super().forward(x)


STANDINS: dict[str, Callable] = {
    piece.__name__: piece
    for piece in (
        softmax,
        padding_mask,
        scaled_dot_product_attention,
        causal_mask,
        SelfAttention,
        CausalSelfAttention,
        MultiHeadAttention,
        TransformerEmbedding,
        LayerNorm,
    )
}
