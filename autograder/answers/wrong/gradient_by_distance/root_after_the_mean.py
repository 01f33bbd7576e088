# mistake: the root is taken after the mean over the batch
# hint: take the norm of each sequence first, then the mean
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.pow(2).sum(dim=-1).mean(dim=0).sqrt()
