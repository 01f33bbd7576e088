# mistake: it works for one number of dimensions only
# hint: leading dimensions are free: index from the end, `x[..., ::2]` and `shape[-2]`
import torch

def rotary(x, positions, base=10_000.0):
    B, T, d = x.shape
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = positions.double()[:, None] * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    pairs = x.reshape(B, T, d // 2, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack([a * c - b * s, a * s + b * c], dim=-1).reshape(B, T, d)
