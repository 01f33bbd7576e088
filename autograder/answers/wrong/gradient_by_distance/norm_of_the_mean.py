# mistake: gradients are averaged over the batch before the norm is taken
# hint: norm first, mean second: gradients of two sequences may cancel
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.mean(dim=0).norm(dim=-1)
