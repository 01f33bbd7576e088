# mistake: a view is taken of x, which fails for heads that aren't contiguous
# hint: use `reshape` or `unflatten`, or index with `x[..., ::2]`
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = positions.double()[:, None] * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    flat = x.view(-1, x.shape[-2], d)
    a, b = flat[..., 0::2], flat[..., 1::2]
    return torch.stack([a * c - b * s, a * s + b * c], dim=-1).view(x.shape)
