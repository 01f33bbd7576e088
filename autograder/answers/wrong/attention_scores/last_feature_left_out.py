# mistake: the sum stops one feature early
# hint: `range(d_k)` already ends before d_k; no `- 1`, and no `[:-1]`
import torch

def attention_scores(q, k):
    d_k = q.shape[-1]
    scores = 0
    for d in range(d_k - 1):
        scores = scores + q[..., :, None, d] * k[..., None, :, d]
    return scores
