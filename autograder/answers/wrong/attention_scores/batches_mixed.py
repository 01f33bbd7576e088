# mistake: queries meet the keys of every other sequence in the batch, not only those of their own
# hint: dimensions in front go together: `@` pairs them up, `tensordot` and `torch.inner` combine each with each
import torch

def attention_scores(q, k):
    return torch.tensordot(q, k, dims=([-1], [-1]))
