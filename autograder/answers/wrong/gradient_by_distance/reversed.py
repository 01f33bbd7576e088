# mistake: the result is ordered by distance from the end
# hint: entry t belongs to `x[:, t]`, so the last entry is the nearest one
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0).flip(0)
