import torch
from torch import nn
from collections import OrderedDict


class FeedForward(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(
            OrderedDict(
                linear_1=nn.Linear(d_model, d_ff),
                relu=nn.ReLU(),
                dropout=nn.Dropout(dropout),
                linear_2=nn.Linear(d_ff, d_model),
            )
        )
