# mistake: an odd width gives a table that is one column too wide
# hint: cut the last cosine off where d_model is odd
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angle = torch.arange(T, dtype=torch.float64).unsqueeze(1) / base ** exponent
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()
