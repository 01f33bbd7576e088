# mistake: every result is unpacked as a pair
# hint: some modules return a tensor alone: look first which it is
import torch


def permutation_gap(module, x, perm):
    def run(z):
        output, _weights = module(z)
        return output

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
