# mistake: components are added up, signs and all
# hint: the length of the vector: `.norm(dim=-1)`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.sum(dim=-1).mean(dim=0)
