import torch
from torch import nn


class LayerNorm(nn.Module):
    """Sums instead of means, an extra buffer, an extra argument."""

    def __init__(self, d_model, eps=1e-5, verbose=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.eps, self.verbose = eps, verbose

    def forward(self, x):
        self.calls += 1
        n = x.size(-1)
        centred = x - x.sum(-1, keepdim=True) / n
        variance = torch.einsum("...i,...i->...", centred, centred)[..., None] / n
        if self.verbose:
            print("variance", variance)
        return centred / (variance + self.eps) ** 0.5 * self.weight + self.bias
