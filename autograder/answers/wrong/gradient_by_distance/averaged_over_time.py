# mistake: the mean is taken over time, and the batch is left
# hint: norm over the last dimension, mean over the first: `(T,)`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.norm(dim=-1).mean(dim=1)
