# mistake: works for (B, T, d_k) only: not without a batch, and not with heads
# hint: count dimensions from the end (`transpose(-2, -1)`) and use `@`, which takes any dimensions in front; `bmm` doesn't
import torch

def attention_scores(q, k):
    scores = []
    for b in range(q.shape[0]):
        scores.append(torch.mm(q[b], k[b].t()))
    return torch.stack(scores)
