# mistake: no position is permuted, so 0 comes out for every module
# hint: x is (B, T, d) and positions are dimension 1: run the module on `x[:, perm]` too, and compare with `output[:, perm]`
def permutation_gap(module, x, perm):
    return 0.0
