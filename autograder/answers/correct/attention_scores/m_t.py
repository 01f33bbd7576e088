from torch import Tensor

def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    assert q.size(-1) == k.size(-1), "queries and keys need the same width"
    return q @ k.mT
