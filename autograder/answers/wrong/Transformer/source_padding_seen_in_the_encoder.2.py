# mistake: the encoder looks at padding: its mask is missing, or laid on the queries
# hint: hand each encoder layer the padding mask of the source, which hides keys: (B, 1, T), and not (B, T, 1)
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def cut(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.cut(self.q_proj(query)), self.cut(self.k_proj(key)), self.cut(self.v_proj(value))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


class Mlp(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear_2(self.drop(torch.relu(self.linear_1(x))))


class Norm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = Heads(d_model, n_heads)
        self.feed_forward = Mlp(d_model, d_ff)
        self.norm_1 = Norm(d_model)
        self.norm_2 = Norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        attended, _ = self.attention(x, x, x, mask)
        x = self.norm_1(x + self.dropout(attended))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = Heads(d_model, n_heads)
        self.cross_attention = Heads(d_model, n_heads)
        self.feed_forward = Mlp(d_model, d_ff)
        self.norm_1 = Norm(d_model)
        self.norm_2 = Norm(d_model)
        self.norm_3 = Norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, cross_mask=None):
        attended, _ = self.self_attention(x, x, x, self_mask)
        x = self.norm_1(x + self.dropout(attended))
        attended, _ = self.cross_attention(x, memory, memory, cross_mask)
        x = self.norm_2(x + self.dropout(attended))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


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
        self.src_embedding = Embed(src_vocab, d_model, max_len, dropout)
        self.tgt_embedding = Embed(tgt_vocab, d_model, max_len, dropout)
        self.encoder = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([DecoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])
        self.output = nn.Linear(d_model, tgt_vocab)

    def padding(self, ids):
        return (ids != self.pad_id).unsqueeze(1)

    def encode(self, src):
        x = self.src_embedding(src)
        for layer in self.encoder:
            x = layer(x, self.padding(src).transpose(1, 2))
        return x

    def decode(self, tgt, memory, src):
        length = tgt.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=tgt.device).tril()
        self_mask = causal & self.padding(tgt)
        x = self.tgt_embedding(tgt)
        for layer in self.decoder:
            x = layer(x, memory, self_mask, self.padding(src))
        return self.output(x)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
