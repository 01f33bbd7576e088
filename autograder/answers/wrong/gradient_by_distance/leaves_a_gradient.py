# mistake: x carries a gradient afterwards
# hint: work on a copy, `x.detach().clone()`, or set `x.grad = None` in the end
import torch

def gradient_by_distance(run, x):
    x.requires_grad_(True)
    run(x)[:, -1].sum().backward()
    norms = x.grad.norm(dim=-1).mean(dim=0)
    x.requires_grad_(False)
    return norms
