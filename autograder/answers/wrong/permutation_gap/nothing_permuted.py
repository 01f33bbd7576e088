# mistake: no position is permuted, so 0 comes out for every module
# hint: x is (B, T, d) and positions are dimension 1: run the module on `x[:, perm]` too, and compare with `output[:, perm]`
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x)
        after = run(x)
    return float((before - after).abs().max())
