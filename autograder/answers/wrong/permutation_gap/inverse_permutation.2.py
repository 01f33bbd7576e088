# mistake: the output is permuted in the other direction than the input
# hint: index both with `perm` itself: `x[:, perm]` and `output[:, perm]`
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm.argsort()])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
