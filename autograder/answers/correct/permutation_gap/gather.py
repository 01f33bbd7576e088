import torch


def permutation_gap(module, x, perm, dim=1):
    first = lambda result: result[0] if type(result) in (tuple, list) else result
    with torch.no_grad():
        y = first(module(x)).detach()
        shuffled = first(module(torch.stack([x.select(dim, int(i)) for i in perm], dim))).detach()
    expected = y.gather(dim, perm.view(1, -1, 1).expand_as(y))
    return torch.dist(shuffled, expected, p=float("inf")).item()
