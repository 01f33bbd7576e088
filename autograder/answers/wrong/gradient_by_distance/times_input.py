# mistake: the gradient is multiplied by the input
# hint: the norm of the gradient alone
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return (grad * x).detach().norm(dim=-1).mean(dim=0)
