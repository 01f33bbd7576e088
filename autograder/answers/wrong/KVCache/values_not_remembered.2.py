# mistake: the values of earlier tokens aren't remembered
# hint: keep keys *and* values
import torch
class KVCache:
    def __init__(self, mha):
        self.mha, self.keys = mha, None
    def step(self, x):
        m = self.mha
        B = x.shape[0]
        h = lambda t: t.view(B, -1, m.n_heads, t.shape[-1] // m.n_heads).transpose(1, 2)
        q, k, v = h(m.q_proj(x)), h(m.k_proj(x)), h(m.v_proj(x))
        self.keys = k if self.keys is None else torch.cat([self.keys, k], 2)
        w = (q @ self.keys.mT / q.shape[-1] ** .5).softmax(-1)
        return m.out_proj((w[..., -1:] @ v).transpose(1, 2).flatten(2))
