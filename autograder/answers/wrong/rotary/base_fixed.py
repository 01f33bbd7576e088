# mistake: the base is written into the code, and the argument is ignored
# hint: use the argument `base` in place of 10000
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = 10_000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = positions.to(torch.float64).unsqueeze(-1) * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    first = a * c - b * s
    second = a * s + b * c
    return torch.stack([first, second], dim=-1).flatten(-2)
