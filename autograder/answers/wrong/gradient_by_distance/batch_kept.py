# mistake: one row for each sequence is returned
# hint: average over the batch: `.mean(dim=0)` leaves `(T,)`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1)
