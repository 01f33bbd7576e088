# mistake: a single unit of the last state is differentiated
# hint: add up all units of the last state: `run(x)[:, -1].sum()`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1, 0].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
