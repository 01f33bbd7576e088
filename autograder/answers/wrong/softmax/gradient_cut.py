# mistake: no gradient flows back to x
# hint: stay with tensor operations on x: no `.detach()`, `.data`, numpy or `torch.no_grad()`
import numpy as np
import torch

def softmax(x, dim=-1):
    a = x.detach().numpy()
    m = a.max(axis=dim, keepdims=True)
    e = np.exp(a - np.where(np.isinf(m), 0, m))
    s = e.sum(axis=dim, keepdims=True)
    return torch.from_numpy(e / np.where(s == 0, 1, s)).to(x.dtype)
