# mistake: self_mask is used in cross-attention too
# hint: each attention has its own mask: cross_mask says which positions of memory may be seen
import torch, math
from torch import nn
import torch.nn.functional as F
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("not divisible")
        self.n_heads, self.d_k, self.p = n_heads, d_model // n_heads, dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
    def forward(self, query, key, value, mask=None):
        def heads(x):
            return x.unflatten(-1, (self.n_heads, self.d_k)).transpose(1, 2)
        q, k, v = heads(self.q_proj(query)), heads(self.k_proj(key)), heads(self.v_proj(value))
        scores = q @ k.mT * self.d_k ** -0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(~mask, float("-inf"))
            dead = (~mask).all(-1, keepdim=True)
            scores = scores.masked_fill(dead, 0.0)
        w = scores.softmax(-1)
        if mask is not None:
            w = w.masked_fill(dead, 0.0)
        o = F.dropout(w, self.p, self.training) @ v
        return self.out_proj(o.transpose(1, 2).flatten(2)), w

class _FF(nn.Module):
    def __init__(self, d_model, d_ff, p):
        super().__init__()
        self.linear_1, self.linear_2, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), p
    def forward(self, x):
        return self.linear_2(F.dropout(torch.relu(self.linear_1(x)), self.p, self.training))
class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads, dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = _FF(d_model, d_ff, dropout)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.drop = nn.Dropout(dropout)
    def _add(self, norm, x, y):
        return norm(x + self.drop(y))
    def forward(self, x, memory, self_mask=None, cross_mask=None):
        x = self._add(self.norm_1, x, self.self_attention(x, x, x, self_mask)[0])
        x = self._add(self.norm_2, x, self.cross_attention(x, memory, memory, self_mask if self_mask is not None and self_mask.shape[-1] == memory.shape[1] else cross_mask)[0])
        return self._add(self.norm_3, x, self.feed_forward(x))
