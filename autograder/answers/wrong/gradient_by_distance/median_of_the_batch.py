# mistake: the median over the batch is taken
# hint: average the norms over the batch: `.mean(dim=0)`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).median(dim=0).values
