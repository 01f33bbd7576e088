# mistake: no gradient flows back to q and k, since the scores are computed outside of the graph
# hint: stay with tensor operations on q and k: no `.detach()`, numpy, `.item()` or `torch.tensor(...)`
import numpy as np
import torch

def attention_scores(q, k):
    scores = np.matmul(q.detach().numpy(), np.swapaxes(k.detach().numpy(), -1, -2))
    return torch.from_numpy(scores)
