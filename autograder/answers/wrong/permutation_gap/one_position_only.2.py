# mistake: only one position is looked at
# hint: take the maximum over all positions
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before[:, -1] - after[:, -1]).abs().max())
