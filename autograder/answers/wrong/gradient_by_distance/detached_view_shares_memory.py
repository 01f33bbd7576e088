# mistake: x is changed in place
# hint: work on a copy, and write nothing into x
import torch

def gradient_by_distance(run, x):
    probe = x.detach().clone().requires_grad_()
    loss = run(probe)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, probe)
    x.copy_(grad)
    return x.norm(dim=-1).mean(dim=0)
