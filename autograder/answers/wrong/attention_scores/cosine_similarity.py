# mistake: cosine similarity is computed instead of the dot product, so the lengths of q and k don't count
# hint: take the plain dot product: no `F.normalize`, no division by norms
import torch
import torch.nn.functional as F

def attention_scores(q, k):
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
