# mistake: the module is left in train mode, whatever it was before
# hint: remember `module.training` and put it back, or don't touch it
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    module.eval()
    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)[:, perm]
    module.train()
    return float((before - after).abs().max())
