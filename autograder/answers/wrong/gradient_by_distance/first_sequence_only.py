# mistake: only the first sequence counts
# hint: average the norms over the whole batch
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad[0].norm(dim=-1)
