import torch

def shift_matrix(offset: int, d_model: int, base: float = 10_000.0) -> torch.Tensor:
    if d_model % 2 != 0:
        raise ValueError(f"no matrix for an odd width: {d_model}")
    even = torch.arange(0, d_model, 2)
    angle = float(offset) * torch.pow(base, -even.double() / d_model)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    matrix[even, even] = matrix[even + 1, even + 1] = angle.cos()
    matrix[even, even + 1] = angle.sin()
    matrix[even + 1, even] = -angle.sin()
    return matrix
