# mistake: only the first sequence is looked at
# hint: take the maximum over the whole batch
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before[0] - after[0]).abs().max())
