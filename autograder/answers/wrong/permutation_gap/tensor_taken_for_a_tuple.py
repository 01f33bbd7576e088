# mistake: `[0]` on a tensor takes its first sequence
# hint: look first whether the result is a tuple; a tensor is the output already
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0]

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
