import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    rates = [base ** (-(c // 2 * 2) / d_model) for c in range(d_model)]
    columns = []
    for c, rate in enumerate(rates):
        angle = torch.arange(T, dtype=torch.float64) * rate
        columns.append(angle.cos() if c % 2 else angle.sin())
    return torch.stack(columns, dim=1).float()
