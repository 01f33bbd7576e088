# mistake: gradients are added up over the batch before the norm is taken
# hint: norm of each sequence first, then the mean over the batch
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.sum(dim=0).norm(dim=-1)
