import torch


class KVCache:
    def __init__(self, mha):
        self.mha, self.cache = mha, {"k": None, "v": None}

    def _heads(self, name, x):
        projected = getattr(self.mha, f"{name}_proj")(x)
        return torch.stack(projected.chunk(self.mha.n_heads, dim=-1), dim=1)

    def _grow(self, name, x):
        new = self._heads(name, x).detach()
        old = self.cache[name]
        self.cache[name] = new if old is None else torch.cat((old, new), dim=-2)
        return self.cache[name]

    def step(self, x):
        q, k, v = self._heads("q", x), self._grow("k", x), self._grow("v", x)
        scores = (q * k).sum(-1, keepdim=True) / k.shape[-1] ** 0.5  # (B, H, t, 1)
        powers = (scores - scores.amax(2, keepdim=True)).exp()
        output = (powers * v).sum(2) / powers.sum(2)  # (B, H, d_k)
        return self.mha.out_proj(output.flatten(1).unsqueeze(1))
