# mistake: the memory belongs to the class, so that all caches share it
# hint: keep the tensors on self, in __init__: what stands in the class body is one for all
import math

import torch


class KVCache:
    keys, values = [], []

    def __init__(self, mha):
        self.mha = mha

    def heads(self, z):
        return z.unflatten(-1, (self.mha.n_heads, -1)).transpose(1, 2)

    def step(self, x):
        q = self.heads(self.mha.q_proj(x))
        k = self.heads(self.mha.k_proj(x))
        v = self.heads(self.mha.v_proj(x))
        self.keys.append(k)
        self.values.append(v)
        k, v = torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        output = torch.softmax(scores, dim=-1) @ v
        return self.mha.out_proj(output.transpose(1, 2).flatten(2))
