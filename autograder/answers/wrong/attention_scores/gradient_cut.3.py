# mistake: no gradient flows back to q and k, since the scores are computed outside of the graph
# hint: stay with tensor operations on q and k: no `.detach()`, numpy, `.item()` or `torch.tensor(...)`
import torch

def attention_scores(q, k):
    return q @ k.detach().transpose(-2, -1)
