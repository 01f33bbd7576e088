# mistake: x asks for gradients afterwards, and carries one
# hint: work on a copy, `x.detach().clone()`
import torch

def gradient_by_distance(run, x):
    x.requires_grad = True
    loss = run(x)[:, -1].sum()
    loss.backward()
    return x.grad.norm(dim=-1).mean(dim=0)
