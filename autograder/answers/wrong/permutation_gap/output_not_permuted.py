# mistake: the output isn't permuted
# hint: self-attention isn't blind to order: its output moves along with its input. Compare with `output[:, perm]`
import torch


def permutation_gap(module, x, perm):
    def run(z):
        result = module(z)
        return result[0] if isinstance(result, (tuple, list)) else result

    with torch.no_grad():
        before = run(x[:, perm])
        after = run(x)
    return float((before - after).abs().max())
