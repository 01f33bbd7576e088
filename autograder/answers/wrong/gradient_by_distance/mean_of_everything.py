# mistake: the mean over batch and units is differentiated
# hint: the *sum* of the last state: `run(x)[:, -1].sum()`; the mean over the batch is taken of the norms
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].mean()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
