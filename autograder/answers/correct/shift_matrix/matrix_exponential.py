import torch

class OddWidth(ValueError):
    pass

def shift_matrix(offset, d_model, base=10_000.0):
    """A rotation is the exponential of a skew-symmetric matrix."""
    if d_model % 2:
        raise OddWidth("odd")
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for c in range(0, d_model, 2):
        generator[c, c + 1] = base ** (-c / d_model)
        generator[c + 1, c] = -base ** (-c / d_model)
    return torch.linalg.matrix_exp(offset * generator).float()
