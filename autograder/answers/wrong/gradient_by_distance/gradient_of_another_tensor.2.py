# mistake: the gradient is read from a tensor that has none: not a leaf, or not the one that `run` was given
# hint: detach first, then clone, then `requires_grad_()`, and give `run` that very tensor
import torch

def gradient_by_distance(run, x):
    base = x.detach().clone().requires_grad_()
    probe = base.clone()
    loss = run(probe)[:, -1].sum()
    loss.backward()
    grad = probe.grad
    return grad.norm(dim=-1).mean(dim=0)
