# mistake: divides by the mean absolute deviation
# hint: the variance is the mean of squares; take its root
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
        deviation = (x - mean).abs().mean(dim=-1, keepdim=True)
        return self.weight * (x - mean) / (deviation + self.eps) + self.bias
