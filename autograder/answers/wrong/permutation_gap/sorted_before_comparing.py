# mistake: outputs are sorted before they are compared
# hint: position i of one belongs to position perm[i] of the other: index, don't sort
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before.sort(1).values - after.sort(1).values).abs().max())
