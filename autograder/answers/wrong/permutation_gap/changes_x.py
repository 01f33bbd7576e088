# mistake: x is permuted in place, and stays so
# hint: indexing makes a new tensor: `x[:, perm]`; leave x as it is
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        after = run(x)[:, perm]
        x.copy_(x[:, perm])
        before = run(x)
    return float((before - after).abs().max())
