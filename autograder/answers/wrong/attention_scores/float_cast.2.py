# mistake: always computes and returns float32
# hint: keep the dtype of the inputs: no `.float()`, no dtype of your own
import torch

def attention_scores(q, k):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2])
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            scores[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(-1)
    return scores
