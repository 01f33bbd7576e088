# mistake: softmax is applied to its own result
# hint: exponentiate and normalise once
import torch

def softmax(x, dim=-1):
    for _ in range(2):
        m = x.amax(dim=dim, keepdim=True)
        e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
        s = e.sum(dim=dim, keepdim=True)
        x = e / s.masked_fill(s == 0, 1)
    return x
