import torch

def softmax(x, dim=-1):
    wide = x.to(torch.float64)
    m, _ = wide.max(dim=dim, keepdim=True)
    m = m.masked_fill(torch.isneginf(m), 0)
    e = torch.exp(wide - m)
    s = e.sum(dim=dim, keepdim=True)
    s = s + (s == 0)
    return (e / s).to(x.dtype)
