# mistake: the mean over the batch is taken twice
# hint: differentiate the sum over the batch, and average the norms once
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum(-1).mean()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
