# mistake: PyTorch's layer does the work
# hint: assemble the layer from your own parts
import torch
from torch import nn


class EncoderLayer(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__(d_model, n_heads, d_ff, dropout, batch_first=True)

    def forward(self, x, mask=None):
        return super().forward(x, None if mask is None or mask.dim() == 3 else ~mask)
