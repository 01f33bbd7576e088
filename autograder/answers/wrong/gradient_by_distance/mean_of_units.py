# mistake: the mean of the last state is differentiated
# hint: the sum over units, not their mean: `run(x)[:, -1].sum()`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].mean(dim=-1).sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
