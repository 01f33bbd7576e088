# mistake: the new token doesn't look at itself
# hint: append first, attend after: under a causal mask with its diagonal a token sees itself
import math

import torch


class KVCache:
    def __init__(self, mha):
        self.mha = mha
        self.keys = self.values = None

    def heads(self, z):
        return z.unflatten(-1, (self.mha.n_heads, -1)).transpose(1, 2)

    def step(self, x):
        q = self.heads(self.mha.q_proj(x))
        k = self.heads(self.mha.k_proj(x))
        v = self.heads(self.mha.v_proj(x))
        if self.keys is None:
            self.keys, self.values = k[:, :, :0], v[:, :, :0]
        old_k, old_v = self.keys, self.values
        if self.keys is not None:
            k = torch.cat([self.keys, k], dim=2)
            v = torch.cat([self.values, v], dim=2)
        self.keys, self.values = k, v
        if old_k.shape[2]:
            k, v = old_k, old_v
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        output = torch.softmax(scores, dim=-1) @ v
        return self.mha.out_proj(output.transpose(1, 2).flatten(2))
