# mistake: PyTorch's Transformer does the work
# hint: assemble the model from your own layers
import torch
from torch import nn


class Embed(nn.Module):
    def __init__(self, vocab_size, d_model, max_len, dropout):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        position = torch.arange(max_len, dtype=torch.float64)[:, None]
        angle = position / 10_000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model]
        self.register_buffer("table", table.float())
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        if ids.shape[1] > len(self.table):
            raise ValueError("the sequence is longer than max_len")
        return self.dropout(self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.table[: ids.shape[1]])


class Transformer(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, d_model=128, n_heads=4, n_layers=2, d_ff=512, dropout=0.1,
                 max_len=128, pad_id=0):
        super().__init__()
        self.pad_id = pad_id
        self.src, self.tgt = (Embed(v, d_model, max_len, dropout) for v in (src_vocab, tgt_vocab))
        self.inner = nn.Transformer(d_model, n_heads, n_layers, n_layers, d_ff, dropout, batch_first=True)
        self.output = nn.Linear(d_model, tgt_vocab)

    def encode(self, src):
        return self.inner.encoder(self.src(src), src_key_padding_mask=src == self.pad_id)

    def decode(self, tgt, memory, src):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        return self.output(self.inner.decoder(self.tgt(tgt), memory, tgt_mask=mask))

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
