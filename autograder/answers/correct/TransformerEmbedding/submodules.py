import math
import torch
import torch.nn.functional as F
from torch import nn

def sinusoids(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    column = torch.arange(d_model)
    angle = position / base ** ((column - column % 2).double() / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos()).float()


class Positions(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > self.table.shape[0]:
            raise ValueError("too long")
        return x + self.table[: x.shape[1]].to(x)


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = Positions(max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        return self.dropout(self.positions(self.tokens(ids) * math.sqrt(self.tokens.embedding_dim)))
