# mistake: the logarithms of the probabilities are returned
# hint: `x - logsumexp(x)` is the logarithm of softmax; one `exp` is missing
import torch

def softmax(x, dim=-1):
    return x - torch.logsumexp(x, dim=dim, keepdim=True)
