import torch


def permutation_gap(module, x, perm):
    shuffle = torch.eye(len(perm), dtype=x.dtype)[perm]
    with torch.no_grad():
        first, second = module(shuffle @ x), module(x)
        if isinstance(first, tuple):
            first, second = first[0], second[0]
        return max(abs((first - shuffle @ second).max().item()), abs((first - shuffle @ second).min().item()))
