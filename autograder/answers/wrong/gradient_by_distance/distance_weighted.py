# mistake: the norms are weighted by distance
# hint: return the norms as they are
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0) * torch.arange(x.shape[1], 0, -1).to(x)
