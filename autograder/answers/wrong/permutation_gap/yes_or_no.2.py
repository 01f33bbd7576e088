# mistake: yes or no is returned instead of a number
# hint: return how large the largest difference is
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float(not torch.allclose(before, after, atol=1e-5))
