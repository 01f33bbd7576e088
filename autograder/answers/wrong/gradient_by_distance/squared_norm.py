# mistake: the root is missing
# hint: the norm is the *root* of the sum of squares
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.pow(2).sum(dim=-1).mean(dim=0)
