import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
