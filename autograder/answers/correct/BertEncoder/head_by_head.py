import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, padding=None):
        outputs = []
        for q, k, v in zip(*(p(x).chunk(self.n_heads, dim=-1) for p in (self.q_proj, self.k_proj, self.v_proj))):
            scores = torch.bmm(q, k.mT) * q.shape[-1] ** -0.5
            if padding is not None:
                scores = torch.where(padding, scores, float("-inf"))
            outputs.append(torch.bmm(scores.softmax(-1).nan_to_num(), v))
        return self.out_proj(torch.cat(outputs, dim=-1))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        normal = torch.distributions.Normal(0.0, 1.0)
        h = self.linear_1(x)
        return self.linear_2(h * normal.cdf(h))


class Layer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = Attention(d_model, n_heads)
        self.norm_1 = nn.LayerNorm(d_model, 1e-12)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_2 = nn.LayerNorm(d_model, 1e-12)


class BertEncoder(nn.Module):
    """Dropout on the embeddings only."""

    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, max_len=512, n_segments=2, dropout=0.1):
        super().__init__()
        self.d_model = d_model
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_len, d_model)
        self.segments = nn.Embedding(n_segments, d_model)
        self.norm = nn.LayerNorm(d_model, 1e-12)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList([Layer(d_model, n_heads, d_ff) for _ in range(n_layers)])

    def forward(self, ids, padding=None, segments=None):
        B, T = ids.shape
        if T > len(self.positions.weight):
            raise ValueError(f"T={T} > max_len")
        if segments is None:
            segments = torch.zeros(B, T, dtype=torch.long, device=ids.device)
        x = self.drop(self.norm(self.tokens(ids) + self.positions(torch.arange(T, device=ids.device)) + self.segments(segments)))
        for layer in self.layers:
            x = layer.norm_1(x + layer.attention(x, padding))
            x = layer.norm_2(x + layer.feed_forward(x))
        return x
