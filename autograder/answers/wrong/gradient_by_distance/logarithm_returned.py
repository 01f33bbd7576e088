# mistake: the logarithm of the norms is returned
# hint: return the norms; the plot has the logarithmic axis
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0).log()
