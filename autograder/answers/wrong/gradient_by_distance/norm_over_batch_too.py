# mistake: one norm is taken over batch and features together
# hint: take the norm over the features of each sequence, then average over the batch
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=(0, 2))
