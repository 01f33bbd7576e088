# mistake: the logarithms of the probabilities are returned
# hint: `x - logsumexp(x)` is the logarithm of softmax; one `exp` is missing
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    m = m.masked_fill(torch.isinf(m), 0)
    e = torch.exp(x - m)
    s = e.sum(dim=dim, keepdim=True)
    return torch.log(e / s.masked_fill(s == 0, 1))
