# mistake: the norms are normalised
# hint: return the norms as they are; whoever plots them may divide
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return torch.nn.functional.normalize(grad.norm(dim=-1).mean(dim=0), p=1, dim=0)
