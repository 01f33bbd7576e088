# mistake: a single number is returned
# hint: one number for each step: norm over the last dimension, mean over the first
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm()
