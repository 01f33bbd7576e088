import math
import torch
import torch.nn.functional as F
from torch import nn

def sinusoids(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    column = torch.arange(d_model)
    angle = position / base ** ((column - column % 2).double() / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos()).float()


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.rate = dropout
        self.register_buffer("pe", sinusoids(max_len, d_model))

    def forward(self, ids):
        if ids.shape[-1] > self.pe.shape[0]:
            raise ValueError("the sequence is too long")
        x = self.tokens(ids) * math.sqrt(self.tokens.embedding_dim) + self.pe[: ids.shape[-1]]
        if self.training and self.rate > 0:
            keep = torch.rand_like(x) >= self.rate
            x = x * keep / (1 - self.rate)
        return x
