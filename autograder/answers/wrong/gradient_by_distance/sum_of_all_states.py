# mistake: the sum of all states is differentiated
# hint: only the last state counts: `run(x)[:, -1].sum()`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x).sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
