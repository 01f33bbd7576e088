# mistake: a single step loses its dimension
# hint: no bare `squeeze()`: one step still gives a tensor of shape `(1,)`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0).squeeze()
