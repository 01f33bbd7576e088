# mistake: the module's parameters are left frozen
# hint: to save gradients, use `torch.no_grad()` around the calls; it ends by itself
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    module.requires_grad_(False)
    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
