import torch

def rotary(x, positions, base=10_000.0):
    d = x.shape[-1]
    angle = positions.double()[:, None] * torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)
    c, s = angle.cos(), angle.sin()
    turn = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2).to(x.dtype)  # (T, d/2, 2, 2)
    return torch.einsum("tpij,...tpj->...tpi", turn, x.unflatten(-1, (d // 2, 2))).flatten(-2)
