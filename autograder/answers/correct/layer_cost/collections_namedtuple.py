from collections import namedtuple

LayerCost = namedtuple("LayerCost", ["operations", "sequential", "path"])

def layer_cost(kind, n, d, k=3):
    def layers(rest):
        return 0 if rest <= 1 else 1 + layers((rest + k - 1) // k)

    table = {
        "self_attention": lambda: LayerCost(n**2 * d, 1, 1),
        "recurrent": lambda: LayerCost(n * d**2, n, n),
        "convolution": lambda: LayerCost(k * n * d**2, 1, layers(n)),
    }
    if kind not in table:
        raise ValueError(f"kind must be one of {', '.join(table)}, not {kind!r}")
    return table[kind]()
