# mistake: the score is a distance between query and key instead of their dot product
# hint: multiply feature by feature and add up; no difference of q and k, no `cdist`
import torch

def attention_scores(q, k):
    return ((q.unsqueeze(-2) - k.unsqueeze(-3)) ** 2).sum(-1)
