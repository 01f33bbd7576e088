import torch
from torch import nn


class FeedForward(nn.Module):
    """Unit by unit, as the formula says: each adds its column of linear_2 as strongly as it is switched on."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        nn.init.xavier_uniform_(self.linear_1.weight)
        nn.init.zeros_(self.linear_2.bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = self.dropout(torch.maximum(self.linear_1(x), torch.zeros((), dtype=x.dtype)))
        result = self.linear_2.bias
        for unit, column in enumerate(self.linear_2.weight.unbind(dim=1)):
            result = result + hidden[..., unit : unit + 1] * column
        return result
