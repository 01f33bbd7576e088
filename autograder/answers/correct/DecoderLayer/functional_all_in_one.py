import torch
from torch import nn
import math
import warnings


def linear(layer, x):
    return torch.einsum("...i,oi->...o", x, layer.weight) + layer.bias


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        for kind in ("self_attention", "cross_attention"):
            parts = {p: nn.Linear(d_model, d_model) for p in ("q_proj", "k_proj", "v_proj", "out_proj")}
            self.add_module(kind, nn.ModuleDict(parts))
        self.feed_forward = nn.Module()
        self.feed_forward.linear_1, self.feed_forward.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        for number in (1, 2, 3):
            self.add_module(f"norm_{number}", nn.LayerNorm(d_model))
        self.n_heads, self.p = n_heads, dropout
        if d_model % n_heads:
            warnings.warn("d_model isn't divisible by n_heads")

    def attend(self, kind, query, memory, mask):
        parts = getattr(self, kind)
        batch, width = query.shape[0], query.shape[-1] // self.n_heads
        q = linear(parts["q_proj"], query).view(batch, -1, self.n_heads, width)
        k = linear(parts["k_proj"], memory).view(batch, -1, self.n_heads, width)
        v = linear(parts["v_proj"], memory).view(batch, -1, self.n_heads, width)
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(width)
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            scores = torch.where(mask, scores, torch.full_like(scores, -math.inf))
        top = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
        powers = torch.exp(scores - top.detach())
        weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
        return linear(parts["out_proj"], torch.einsum("bhij,bjhd->bihd", weights, v).reshape(batch, -1, query.shape[-1]))

    def join(self, number, x, y):
        return getattr(self, f"norm_{number}")(x + nn.functional.dropout(y, self.p, self.training))

    def forward(self, x, memory, self_mask=None, cross_mask=None):
        x = self.join(1, x, self.attend("self_attention", x, x, self_mask))
        x = self.join(2, x, self.attend("cross_attention", x, memory, cross_mask))
        hidden = linear(self.feed_forward.linear_1, x).clamp(min=0)
        return self.join(3, x, linear(self.feed_forward.linear_2, hidden))
