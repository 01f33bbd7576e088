import torch

def attention_scores(q, k):
    scores = torch.empty(q.shape[:-1] + k.shape[-2:-1], dtype=q.dtype, device=q.device)
    for i in range(q.size(-2)):
        for j in range(k.size(-2)):
            scores[..., i, j] = torch.einsum("...d,...d->...", q[..., i, :], k[..., j, :])
    return scores
