# mistake: a slice of nothing but −∞ gives NaN: there −∞ − (−∞) and 0/0 are computed
# hint: where the maximum is −∞ subtract 0 instead, and where the sum is 0 divide by 1
import torch

def softmax(x, dim=-1):
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))
