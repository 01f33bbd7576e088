import math
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v, mask=None):
        scores = torch.matmul(q / math.sqrt(q.size(-1)), k.transpose(-2, -1))
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.softmax(scores)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0)
        weights = self.dropout(weights)
        return torch.matmul(weights, v), weights

scaled_dot_product_attention = ScaledDotProductAttention()
