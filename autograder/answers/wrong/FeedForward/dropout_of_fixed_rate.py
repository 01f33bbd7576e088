# mistake: dropout has a rate of its own, whatever the argument says
# hint: hand the argument to `nn.Dropout`
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))
