import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    work = x if x.dtype in (torch.float32, torch.float64) else x.float()
    rate = 1 / base ** (torch.arange(0, d, 2, device=x.device).double() / d)
    angle = torch.outer(positions.double(), rate)
    spin = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(work.reshape(*x.shape[:-1], d // 2, 2).contiguous())
    return torch.view_as_real(pairs * spin.to(pairs.dtype)).flatten(-2).to(x.dtype)
