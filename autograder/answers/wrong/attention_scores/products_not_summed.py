# mistake: the products of the features are never added up
# hint: one number for each pair of query and key: sum over the last dimension, `.sum(dim=-1)`
import torch

def attention_scores(q, k):
    return q.unsqueeze(-2) * k.unsqueeze(-3)
