# mistake: the gradient is read from a tensor that has none: not a leaf, or not the one that `run` was given
# hint: detach first, then clone, then `requires_grad_()`, and give `run` that very tensor
import torch

def gradient_by_distance(run, x):
    probe = x.detach().clone().requires_grad_()
    loss = run(x.requires_grad_())[:, -1].sum()
    x.requires_grad_(False)
    (grad,) = torch.autograd.grad(loss, probe, allow_unused=True)
    return grad.norm(dim=-1).mean(dim=0)
