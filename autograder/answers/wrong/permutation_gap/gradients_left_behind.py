# mistake: gradients are left on the module
# hint: nothing is to be learned here: no `backward`
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    before = run(x[:, perm])
    after = run(x)[:, perm]
    gap = (before - after).abs().max()
    if gap.requires_grad:
        gap.backward()
    return float((before - after).abs().max())
