import torch

def shift_matrix(offset, d_model, base=10_000.0):
    if d_model % 2:
        raise ValueError("odd")
    # each block from two positions of its own pair of columns
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    for c in range(0, d_model, 2):
        rate = torch.tensor(base, dtype=torch.float64) ** (-c / d_model)
        spread = torch.pi / 2 / rate  # positions a quarter of a turn apart
        before = torch.stack([torch.stack([(p * rate).sin(), (p * rate).cos()]) for p in (0 * spread, spread)], dim=1)
        after = torch.stack([torch.stack([((p + offset) * rate).sin(), ((p + offset) * rate).cos()]) for p in (0 * spread, spread)], dim=1)
        matrix[c : c + 2, c : c + 2] = after @ torch.linalg.inv(before)
    return matrix.float()
