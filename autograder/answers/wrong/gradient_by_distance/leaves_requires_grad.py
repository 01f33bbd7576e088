# mistake: x asks for gradients afterwards
# hint: work on a copy, `x.detach().clone()`, or switch `requires_grad` off again
import torch

def gradient_by_distance(run, x):
    x.requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
