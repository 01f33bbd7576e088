from typing import NamedTuple

class LayerCost(NamedTuple):
    operations: int
    sequential: int
    path: int

def layer_cost(kind, n, d, k=3):
    match kind:
        case "self_attention":
            return LayerCost(operations=n * n * d, sequential=1, path=1)
        case "recurrent":
            return LayerCost(operations=n * d * d, sequential=n, path=n)
        case "convolution":
            steps, remaining = 0, n
            while remaining > 1:
                remaining = -(-remaining // k)
                steps += 1
            return LayerCost(operations=k * n * d * d, sequential=1, path=steps)
        case _:
            raise ValueError(kind)
