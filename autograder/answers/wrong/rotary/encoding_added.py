# mistake: the encoding is added instead of multiplying pairs by a rotation
# hint: nothing is added: each pair is turned, and its length stays
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = positions.to(torch.float64).unsqueeze(-1) * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    first = a + s
    second = b + c
    return torch.stack([first, second], dim=-1).flatten(-2)
