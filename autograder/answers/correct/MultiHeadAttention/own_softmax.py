import torch
from torch import nn


def stable_softmax(scores):
    top = scores.detach().amax(-1, keepdim=True)
    powers = torch.exp(scores - torch.where(top.isinf(), torch.zeros_like(top), top))
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total == 0, torch.ones_like(total), total)


class Base(nn.Module):
    def split(self, x):
        return x.reshape(*x.shape[:2], self.n_heads, -1).permute(0, 2, 1, 3)


class MultiHeadAttention(Base):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )
        if d_model % n_heads:
            raise ValueError("d_model % n_heads != 0")
        self.attn_dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.q_proj(query)), self.split(self.k_proj(key)), self.split(self.v_proj(value))
        scores = torch.matmul(q, k.transpose(2, 3)).div(q.size(-1) ** 0.5)
        if mask is not None:
            mask = mask[:, None, :, :] if mask.ndim == 3 else mask
            scores = torch.where(mask, scores, scores.new_full((), float("-inf")))
        weights = self.attn_dropout(stable_softmax(scores))
        mixed = torch.matmul(weights, v)
        return self.out_proj(mixed.permute(0, 2, 1, 3).contiguous().view(query.size(0), query.size(1), -1)), weights
