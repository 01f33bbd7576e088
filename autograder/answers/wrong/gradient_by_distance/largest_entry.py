# mistake: the largest entry stands for the norm
# hint: the Euclidean norm: root of the sum of squares
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.abs().amax(dim=-1).mean(dim=0)
