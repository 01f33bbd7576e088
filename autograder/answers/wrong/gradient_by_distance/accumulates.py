# mistake: gradients of earlier calls are added to this one's
# hint: clear `.grad`, or ask `torch.autograd.grad`, which leaves nothing lying around
import torch

kept = {}

def gradient_by_distance(run, x):
    key = tuple(x.shape)
    probe = kept.setdefault(key, torch.zeros_like(x).requires_grad_())
    with torch.no_grad():
        probe.copy_(x)
    run(probe)[:, -1].sum().backward()
    return probe.grad.norm(dim=-1).mean(dim=0)
