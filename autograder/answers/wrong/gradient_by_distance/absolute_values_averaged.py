# mistake: absolute values are averaged
# hint: the Euclidean norm over features: root of the sum of squares
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.abs().mean(dim=(0, 2))
