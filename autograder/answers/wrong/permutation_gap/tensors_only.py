# mistake: a pair (output, weights) can't be handled
# hint: where the module returns a tuple, its first element is the output
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
