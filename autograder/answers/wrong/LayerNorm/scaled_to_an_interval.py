# mistake: stretches each token to lie between 0 and 1
# hint: mean 0 and variance 1 are asked for, not smallest 0 and largest 1
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.amin(dim=-1, keepdim=True)
        variance = (x.amax(dim=-1, keepdim=True) - mean).square()
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
