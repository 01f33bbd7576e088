# mistake: hidden units are dropped in eval mode too
# hint: a functional dropout needs `training=self.training`; a module knows by itself
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.p = dropout

    def forward(self, x):
        return self.linear_2(nn.functional.dropout(torch.relu(self.linear_1(x)), self.p, training=True))
