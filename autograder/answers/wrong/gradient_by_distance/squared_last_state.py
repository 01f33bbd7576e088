# mistake: the squared last state is differentiated
# hint: `run(x)[:, -1].sum()`, without squares
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].pow(2).sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
