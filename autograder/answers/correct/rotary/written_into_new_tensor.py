import torch

def rotary(x: torch.Tensor, positions: torch.Tensor, base: float = 10_000.0, verbose: bool = False) -> torch.Tensor:
    half = x.shape[-1] // 2
    exponent = torch.arange(half, dtype=torch.float32, device=x.device) / half
    angle = positions[:, None].float() / base**exponent
    cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out
