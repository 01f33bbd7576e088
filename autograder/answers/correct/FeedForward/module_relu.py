import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0, activation=nn.ReLU):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.activation = activation(inplace=True)
        self.dropout = nn.Dropout(p=dropout)
        self.linear_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        for part in (self.linear_1, self.activation, self.dropout, self.linear_2):
            x = part(x)
        return x
