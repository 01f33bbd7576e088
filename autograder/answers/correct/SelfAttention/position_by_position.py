import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None, d_v=None):
        super().__init__()
        d_k, d_v = (d_model if d is None else d for d in (d_k, d_v))
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        nn.init.xavier_uniform_(self.query.weight)

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        B, T, _ = x.shape
        if mask is None:
            mask = torch.ones(T, T, dtype=torch.bool, device=x.device)
        mask = mask.expand(B, T, T)
        rows, outputs = [], []
        for t in range(T):
            scores = (q[:, t : t + 1] * k).sum(-1) / k.shape[-1] ** 0.5
            scores = scores.masked_fill(~mask[:, t], -1e9 if x.dtype == torch.float64 else -1e4)
            weights = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask[:, t]
            total = weights.sum(-1, keepdim=True)
            weights = weights / torch.where(total == 0, torch.ones_like(total), total)
            rows.append(weights)
            outputs.append((weights.unsqueeze(-1) * v).sum(1))
        return torch.stack(outputs, 1), torch.stack(rows, 1)
