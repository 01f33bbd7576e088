# mistake: cosine similarity is computed instead of the dot product, so the lengths of q and k don't count
# hint: take the plain dot product: no `F.normalize`, no division by norms
import torch

def attention_scores(q, k):
    dots = torch.einsum("...qd,...kd->...qk", q, k)
    return dots / k.norm(dim=-1).unsqueeze(-2)
