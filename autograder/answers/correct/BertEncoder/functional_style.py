import torch
import torch.nn.functional as F
from torch import nn


class BertEncoder(nn.Module):
    """All sub-modules only hold weights; forward does the work."""

    def __init__(self, vocab_size, d_model, n_heads, n_layers, d_ff, max_len=512, n_segments=2, dropout=0.1):
        super().__init__()
        self.d_model, self.n_heads, self.max_len, self.p = d_model, n_heads, max_len, dropout
        self.tokens, self.positions, self.segments = (nn.Embedding(n, d_model) for n in (vocab_size, max_len, n_segments))
        self.norm = nn.LayerNorm(d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            names = ("q_proj", "k_proj", "v_proj", "out_proj")
            self.layers.append(
                nn.ModuleDict(
                    {
                        "attention": nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in names}),
                        "norm_1": nn.LayerNorm(d_model),
                        "feed_forward": nn.ModuleDict(
                            {"linear_1": nn.Linear(d_model, d_ff), "linear_2": nn.Linear(d_ff, d_model)}
                        ),
                        "norm_2": nn.LayerNorm(d_model),
                    }
                )
            )

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def normalise(self, norm, x):
        return F.layer_norm(x, (self.d_model,), norm.weight, norm.bias, 1e-12)

    def attend(self, part, x, mask):
        def heads(name):
            y = F.linear(x, part[name].weight, part[name].bias)
            return y.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)

        rate = self.p if self.training else 0.0
        out = F.scaled_dot_product_attention(heads("q_proj"), heads("k_proj"), heads("v_proj"), mask, rate)
        out = out.transpose(1, 2).reshape(x.shape)
        return F.linear(out, part["out_proj"].weight, part["out_proj"].bias)

    def forward(self, ids, padding=None, segments=None):
        if ids.size(1) > self.max_len:
            raise ValueError("too long")
        segment = self.segments.weight[0] if segments is None else self.segments(segments)
        x = self.tokens(ids) + self.positions.weight[: ids.size(1)] + segment
        x = self.drop(self.normalise(self.norm, x))
        mask = None if padding is None else padding[:, None]
        for layer in self.layers:
            x = self.normalise(layer["norm_1"], x + self.drop(self.attend(layer["attention"], x, mask)))
            wide = F.linear(x, layer["feed_forward"]["linear_1"].weight, layer["feed_forward"]["linear_1"].bias)
            thin = F.linear(F.gelu(wide), layer["feed_forward"]["linear_2"].weight, layer["feed_forward"]["linear_2"].bias)
            x = self.normalise(layer["norm_2"], x + self.drop(thin))
        return x
