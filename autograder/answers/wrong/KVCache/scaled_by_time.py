# mistake: scores are divided by the root of the number of tokens
# hint: divide by the root of the width of a head, d_k
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
        if self.keys is not None:
            k = torch.cat([self.keys, k], dim=2)
            v = torch.cat([self.values, v], dim=2)
        self.keys, self.values = k, v
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[2])
        output = torch.softmax(scores, dim=-1) @ v
        return self.mha.out_proj(output.transpose(1, 2).flatten(2))
