# mistake: the exponent lacks its 2: pairs turn too fast
# hint: pair i has the rate base^(−2i/d_k)
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(d // 2, dtype=torch.float64, device=x.device) / d)
    angle = positions.to(torch.float64).unsqueeze(-1) * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    first = a * c - b * s
    second = a * s + b * c
    return torch.stack([first, second], dim=-1).flatten(-2)
