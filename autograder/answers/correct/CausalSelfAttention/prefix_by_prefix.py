import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None, d_v=None, bias=False):
        super().__init__()
        self.query = nn.Linear(d_model, d_k or d_model, bias=bias)
        self.key = nn.Linear(d_model, d_k or d_model, bias=bias)
        self.value = nn.Linear(d_model, d_v or d_model, bias=bias)

    def forward(self, x, padding=None):
        B, T, _ = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        outputs, rows = [], []
        for t in range(T):
            keys, values = k[:, : t + 1], v[:, : t + 1]
            scores = (keys @ q[:, t].unsqueeze(-1)).squeeze(-1) / q.shape[-1] ** 0.5  # (B, t + 1)
            if padding is not None:
                scores = scores.masked_fill(~padding[:, 0, : t + 1], float("-inf"))
            shares = scores.softmax(-1).nan_to_num(0.0)
            outputs.append((shares.unsqueeze(1) @ values).squeeze(1))
            rows.append(torch.cat([shares, shares.new_zeros(B, T - t - 1)], dim=-1))
        return torch.stack(outputs, dim=1), torch.stack(rows, dim=1)
