import torch

def softmax(x, dim: int = -1):
    """exp(x - logsumexp(x)); a slice of nothing but -inf is inf - inf there, and becomes 0."""
    log_p = x - x.logsumexp(dim, keepdim=True)
    return torch.nan_to_num(log_p.exp(), nan=0.0)
