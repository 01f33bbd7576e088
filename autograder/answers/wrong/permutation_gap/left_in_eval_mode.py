# mistake: the module is left in eval mode
# hint: whoever measures leaves things as they were: put the mode back, or don't touch it
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    module.eval()
    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    return float((before - after).abs().max())
