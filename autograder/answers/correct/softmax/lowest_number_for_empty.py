import torch

def softmax(x, dim=-1):
    lowest = torch.finfo(x.dtype).min
    m = x.detach().amax(dim=dim, keepdim=True).clamp(min=lowest)
    e = (x - m).exp()
    return e / e.sum(dim=dim, keepdim=True).clamp(min=1e-9)
