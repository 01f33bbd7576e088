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
        self.p = dropout
        self.register_buffer("table", sinusoids(max_len, d_model))
        self.register_buffer("scale", torch.tensor(float(d_model)).sqrt())

    def forward(self, ids):
        batch, length = ids.size()
        if length > len(self.table):
            raise ValueError("too long")
        places = torch.arange(length, device=ids.device).expand(batch, length)
        x = torch.add(F.embedding(places, self.table), self.tokens(ids) * self.scale)
        return F.dropout(x, p=self.p, training=self.training)
