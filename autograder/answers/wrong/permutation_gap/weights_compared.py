# mistake: the weights are compared, not the outputs
# hint: of (output, weights) the first is meant
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[1] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
