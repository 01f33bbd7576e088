import torch

def gradient_by_distance(run, x):
    probe = x.clone().detach()
    probe.requires_grad = True
    loss = run(probe)[:, -1, :].sum()
    loss.backward()
    grad = probe.grad
    return grad.norm(dim=-1).mean(dim=0)
