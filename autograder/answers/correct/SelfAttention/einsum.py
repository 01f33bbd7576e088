import torch
from torch import nn


class SelfAttention(nn.Module):
    """Queries, keys and values from one sequence."""

    def __init__(self, d_model: int, d_k: int | None = None, d_v: int | None = None) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_k or d_model, bias=False)
        self.key = nn.Linear(d_model, d_k or d_model, bias=False)
        self.value = nn.Linear(d_model, d_v or d_model, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        scores = torch.einsum("bqc,bkc->bqk", self.query(x), self.key(x)) * self.query.out_features**-0.5
        if mask is None:
            weights = scores.softmax(-1)
        else:
            closed = ~mask
            weights = scores.masked_fill(closed, float("-inf")).softmax(-1).nan_to_num(0.0)
        return torch.einsum("bqk,bkv->bqv", weights, self.value(x)), weights
