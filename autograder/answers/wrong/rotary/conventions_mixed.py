# mistake: pairs are taken from halves and put back as neighbours
# hint: put each pair back where it was taken from: `cat` for halves, `stack` and `flatten` for neighbours
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = positions.to(torch.float64).unsqueeze(-1) * rate
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    first = a * c - b * s
    second = a * s + b * c
    return torch.stack([first, second], dim=-1).flatten(-2)
