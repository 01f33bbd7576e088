# mistake: the sum is treated as a constant, so the gradients are wrong
# hint: the sum depends on x too: only the maximum may be detached
import torch

def softmax(x, dim=-1):
    m = x.detach().amax(dim=dim, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    s = e.sum(dim=dim, keepdim=True).detach()
    return e / s.masked_fill(s == 0, 1)
