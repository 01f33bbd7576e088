# mistake: the angles' float64 stays in the result
# hint: turn cosine and sine into the dtype of x before multiplying
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = positions.to(torch.float64).unsqueeze(-1) * rate
    c, s = angle.cos(), angle.sin()
    a, b = x[..., ::2], x[..., 1::2]
    first = a * c - b * s
    second = a * s + b * c
    return torch.stack([first, second], dim=-1).flatten(-2)
