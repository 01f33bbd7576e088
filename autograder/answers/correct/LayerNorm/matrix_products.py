import torch
from torch import nn


def normalise(x, eps):
    d = x.shape[-1]
    centring = torch.eye(d, dtype=x.dtype) - torch.full((d, d), 1 / d, dtype=x.dtype)
    centred = x @ centring
    return centred * (centred.pow(2).mean(-1, True) + eps).pow(-0.5)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        return normalise(x, self.eps) * self.weight + self.bias
