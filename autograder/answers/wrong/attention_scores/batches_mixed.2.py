# mistake: queries meet the keys of every other sequence in the batch, not only those of their own
# hint: dimensions in front go together: `@` pairs them up, `tensordot` and `torch.inner` combine each with each
import torch

def attention_scores(q, k):
    d_k = q.shape[-1]
    return q.reshape(-1, d_k) @ k.reshape(-1, d_k).T
