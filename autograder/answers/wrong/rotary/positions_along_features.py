# mistake: angles are laid along the wrong dimension
# hint: positions belong to dimension −2: angles are (T, d_k / 2)
import torch

def rotary(x, positions, base=10_000.0):
    x = x.transpose(-1, -2) if x.shape[-1] == x.shape[-2] else x
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = torch.arange(x.shape[-3] if x.dim() > 2 else x.shape[-2], dtype=torch.float64).reshape(-1, *[1] * min(x.dim() - 1, 2)) * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    first = a * c - b * s
    second = a * s + b * c
    return torch.stack([first, second], dim=-1).flatten(-2)
