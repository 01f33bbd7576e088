# mistake: the memory is kept on mha, so that all its caches share it
# hint: keep the tensors on the cache itself: self.keys, self.values
import math

import torch


class KVCache:
    def __init__(self, mha):
        self.mha = mha
        if not hasattr(mha, "memory"):
            mha.memory = None

    def heads(self, z):
        return z.unflatten(-1, (self.mha.n_heads, -1)).transpose(1, 2)

    def step(self, x):
        q = self.heads(self.mha.q_proj(x))
        k = self.heads(self.mha.k_proj(x))
        v = self.heads(self.mha.v_proj(x))
        if self.mha.memory is not None:
            k = torch.cat([self.mha.memory[0], k], dim=2)
            v = torch.cat([self.mha.memory[1], v], dim=2)
        self.mha.memory = (k, v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        output = torch.softmax(scores, dim=-1) @ v
        return self.mha.out_proj(output.transpose(1, 2).flatten(2))
