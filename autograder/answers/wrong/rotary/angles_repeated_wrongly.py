# mistake: the angles are laid out for neighbours and the features for halves
# hint: for halves repeat the angles with `cat`, for neighbours with `repeat_interleave`
import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = (positions.to(torch.float64).unsqueeze(-1) * rate).repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    return x * angle.cos().to(x.dtype) + torch.cat([-second, first], dim=-1) * angle.sin().to(x.dtype)
