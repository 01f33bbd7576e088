import torch
from torch import nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    """Plain containers hold the weights; forward spells everything out, head by head."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        names = ("q_proj", "k_proj", "v_proj", "out_proj")
        self.attention = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in names})
        layers = {"linear_1": nn.Linear(d_model, d_ff), "linear_2": nn.Linear(d_ff, d_model)}
        self.feed_forward = nn.ModuleDict(layers)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.n_heads, self.p = n_heads, dropout

    def attend(self, x, mask):
        q, k, v = (self.attention[name](x).chunk(self.n_heads, -1) for name in ("q_proj", "k_proj", "v_proj"))
        heads = []
        for i in range(self.n_heads):
            scores = torch.einsum("bid,bjd->bij", q[i], k[i]) * q[i].shape[-1] ** -0.5
            if mask is not None:
                scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
                weights = torch.softmax(scores, -1) * mask
            else:
                weights = torch.softmax(scores, -1)
            heads.append(weights @ v[i])
        return self.attention["out_proj"](torch.cat(heads, -1))

    def drop(self, y):
        return F.dropout(y, self.p, self.training)

    def forward(self, x, mask=None):
        x = self.norm_1(x + self.drop(self.attend(x, mask)))
        hidden = F.relu(self.feed_forward["linear_1"](x))
        return self.norm_2(x + self.drop(self.feed_forward["linear_2"](hidden)))
