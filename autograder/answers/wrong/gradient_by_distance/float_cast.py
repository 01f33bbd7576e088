# mistake: the computation is done in float32
# hint: keep the dtype of x: no `.float()`
import torch

def gradient_by_distance(run, x):
    x = x.detach().clone().requires_grad_(True)
    loss = run(x)[:, -1].sum()
    (grad,) = torch.autograd.grad(loss, x)
    return grad.float().norm(dim=-1).mean(dim=0)
