# mistake: PyTorch's layer norm does the work
# hint: the exercise is to compute mean, variance and the rest by hand
import torch
from torch import nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps=eps)
