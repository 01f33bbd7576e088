import torch

def gradient_by_distance(run, x):
    leaf = torch.nn.Parameter(x.clone())
    loss = run(leaf)[:, -1].sum(dim=-1).mean()
    (grad,) = torch.autograd.grad(loss, [leaf])
    return torch.sqrt((grad * grad).sum(2)).sum(0)
