import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    """The imaginary and real parts of e to the i times angle."""
    pairs = -(-d_model // 2)
    rate = torch.tensor([base ** (-2 * i / d_model) for i in range(pairs)], dtype=torch.float64)
    angle = torch.arange(T, dtype=torch.float64)[:, None] * rate
    spin = torch.polar(torch.ones_like(angle), angle)
    return torch.stack([spin.imag, spin.real], dim=-1).reshape(T, 2 * pairs)[:, :d_model].float()
