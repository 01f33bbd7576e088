# mistake: the last sequence of the batch is taken for the last step
# hint: time is dimension 1: `run(x)[:, -1]`, not `run(x)[-1]`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[-1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
