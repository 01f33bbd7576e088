# mistake: no gradient flows back to q and k, since the scores are computed outside of the graph
# hint: stay with tensor operations on q and k: no `.detach()`, numpy, `.item()` or `torch.tensor(...)`
import torch

def attention_scores(q, k):
    if q.dim() > 2:
        return torch.stack([attention_scores(a, b) for a, b in zip(q, k)])
    return torch.tensor([[sum(a * b for a, b in zip(row, key)) for key in k.tolist()] for row in q.tolist()])
