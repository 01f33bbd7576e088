def permutation_gap(module, x, perm):
    output = module(x)
    shuffled = module(x[:, perm])
    if not hasattr(output, "shape"):
        output, shuffled = output[0], shuffled[0]
    return (shuffled - output[:, perm]).detach().abs().amax().item()
