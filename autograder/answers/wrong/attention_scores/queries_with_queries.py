# mistake: queries are compared with queries, and the keys are never used
# hint: the second factor is made of k: each query meets each key
import torch

def attention_scores(q, k):
    return torch.matmul(q, q.transpose(-2, -1))
