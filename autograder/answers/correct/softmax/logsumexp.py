import torch

def softmax(x, dim=-1):
    norm = torch.logsumexp(x, dim=dim, keepdim=True)
    norm = norm.masked_fill(norm == float("-inf"), 0.0)
    return torch.exp(x - norm)
