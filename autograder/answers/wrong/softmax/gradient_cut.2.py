# mistake: no gradient flows back to x
# hint: stay with tensor operations on x: no `.detach()`, `.data`, numpy or `torch.no_grad()`
import torch

@torch.no_grad()
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
