# mistake: the second half of a pair is computed from the first after that has been turned
# hint: keep both old numbers until both new ones are computed
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = positions.to(torch.float64).unsqueeze(-1) * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    a = a * c - b * s
    b = a * s + b * c
    return torch.stack([a, b], dim=-1).flatten(-2)
