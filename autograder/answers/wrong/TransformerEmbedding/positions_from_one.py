# mistake: positions count from 1
# hint: the first token gets row 0 of the encoding
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
        self.d_model, self.max_len = d_model, max_len
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", sinusoids(max_len + 1, d_model)[1:])

    def forward(self, ids):
        T = ids.shape[1]
        if T > self.max_len:
            raise ValueError(f"{T} tokens are more than max_len={self.max_len}")
        return self.dropout(self.tokens(ids) * math.sqrt(self.d_model) + self.pe[:T])
