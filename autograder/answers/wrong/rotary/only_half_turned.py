# mistake: only the first half of the features is turned
# hint: every pair of d_k turns
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = (positions.to(torch.float64).unsqueeze(-1) * rate)[..., : len(range(1, d // 2, 2))]
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., : d // 2 : 2], x[..., 1 : d // 2 : 2]
    first = a[..., : c.shape[-1]] * c - b * s
    second = a[..., : c.shape[-1]] * s + b * c
    return torch.cat([torch.stack([first, second], dim=-1).flatten(-2), x[..., 2 * c.shape[-1] :]], dim=-1)
