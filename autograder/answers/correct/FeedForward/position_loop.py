import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear_2 = nn.Linear(d_ff, d_model, bias=True)
        self.drop = nn.Dropout(dropout)
        self.relu = nn.ReLU()

    def forward(self, x):
        if x.dim() == 1:
            return self.linear_2(self.drop(self.relu(self.linear_1(x))))
        return torch.stack([self.forward(row) for row in x])
