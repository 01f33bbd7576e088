# mistake: sines fill the left half and cosines the right, instead of taking turns
# hint: put sines into `[:, 0::2]` and cosines into `[:, 1::2]`
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angle = torch.arange(T, dtype=torch.float64).unsqueeze(1) / base ** exponent
    return torch.cat([angle.sin(), angle.cos()], dim=1)[:, :d_model].float()
