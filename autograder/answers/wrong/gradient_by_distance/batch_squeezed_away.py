# mistake: the batch isn't averaged but squeezed away
# hint: `.mean(dim=0)` works for one sequence too
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.squeeze(0).norm(dim=-1)
