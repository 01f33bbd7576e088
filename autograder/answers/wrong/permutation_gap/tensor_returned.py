# mistake: a tensor is returned, not a Python float
# hint: `.item()` or `float(…)` makes a plain number of it
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return (before - after).abs().max()
