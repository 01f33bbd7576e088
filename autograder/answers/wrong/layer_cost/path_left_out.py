# mistake: only two fields are returned
# hint: three fields: operations, sequential, path
def layer_cost(kind, n, d, k=3):
    if kind == "self_attention":
        return (n * n * d, 1)
    if kind == "recurrent":
        return (n * d * d, n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            reach *= k
            layers += 1
        return (k * n * d * d, 1)
    raise ValueError(f"unknown kind: {kind!r}")
