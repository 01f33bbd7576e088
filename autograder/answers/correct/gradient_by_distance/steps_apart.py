import torch

def gradient_by_distance(run, x, verbose=True):
    """Every step is a leaf of its own."""
    steps = [x[:, t].detach().clone().requires_grad_() for t in range(x.shape[1])]
    last = run(torch.stack(steps, dim=1)).select(1, -1)
    grads = torch.autograd.grad(last, steps, torch.ones_like(last))
    if verbose:
        print("norms of", len(grads), "steps")
    return torch.stack([grad.norm(p=2, dim=1).mean() for grad in grads])
