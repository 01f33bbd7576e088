# mistake: the norm of the last state is differentiated, not its sum
# hint: `run(x)[:, -1].sum()`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].norm()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
