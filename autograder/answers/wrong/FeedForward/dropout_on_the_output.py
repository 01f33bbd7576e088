# mistake: dropout acts on the result, not on the hidden units
# hint: dropout stands between ReLU and `linear_2`; the layer around drops from the result
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.linear_2(torch.relu(self.linear_1(x))))
