# mistake: the module never sees a permuted input
# hint: run it twice: on x and on `x[:, perm]`
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x)
        after = run(x)[:, perm]
    return float((before - after).abs().max())
