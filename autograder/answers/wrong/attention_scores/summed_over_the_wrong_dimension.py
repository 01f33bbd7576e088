# mistake: the products are added up over the keys instead of over the features
# hint: the sum runs over d_k; after `unsqueeze` print the shape and see where d_k stands
import torch

def attention_scores(q, k):
    return (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(dim=-2)
