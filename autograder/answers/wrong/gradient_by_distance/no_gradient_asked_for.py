# mistake: what `run` is given asks for no gradients, so autograd has nothing to follow
# hint: switch `requires_grad` on for a copy before `run` is called, and give `run` that very copy
import torch

def gradient_by_distance(run, x):
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=0)
