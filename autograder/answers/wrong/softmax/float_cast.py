# mistake: always computes and returns float32
# hint: keep the dtype of x: no `.float()`, and `torch.zeros_like` for new tensors
import torch

def softmax(x, dim=-1):
    x = x.float()
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
