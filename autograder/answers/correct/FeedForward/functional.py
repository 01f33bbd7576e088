import torch
from torch import nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.p = dropout

    def forward(self, x):
        hidden = F.dropout(F.linear(x, self.linear_1.weight, self.linear_1.bias), self.p, self.training)
        return F.linear(hidden.clamp(min=0), self.linear_2.weight, self.linear_2.bias)
