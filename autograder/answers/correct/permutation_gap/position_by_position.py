import torch


def permutation_gap(module, x, perm):
    def output_of(z):
        with torch.inference_mode():
            result = module(z)
        if isinstance(result, torch.Tensor):
            return result
        output, _weights = result
        return output

    straight, mixed = output_of(x), output_of(x[:, perm])
    largest = 0.0
    for i, p in enumerate(perm.tolist()):
        largest = max(largest, (mixed[:, i] - straight[:, p]).abs().max().item())
    return largest
