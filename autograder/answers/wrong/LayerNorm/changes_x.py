# mistake: x itself is changed
# hint: `-=` writes into the caller's tensor; write `x - mean` into a new one
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        x -= mean
        variance = x.square().mean(dim=-1, keepdim=True)
        return self.weight * x / torch.sqrt(variance + self.eps) + self.bias
