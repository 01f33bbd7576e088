# mistake: the norms are divided by the last one
# hint: return the norms as they are; whoever plots them may divide
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0) / grad.norm(dim=-1).mean(dim=0)[-1]
