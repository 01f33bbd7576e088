from fractions import Fraction

def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return (n * n * d, 1, 1)
    if kind == "recurrent":
        return (n * d * d, n, n)
    if kind == "convolution":
        share, layers = Fraction(n), 0
        while share > 1:
            share /= k
            layers += 1
        return (k * n * d * d, 1, layers)
    raise ValueError(kind)
