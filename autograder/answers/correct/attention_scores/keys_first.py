import torch

def attention_scores(q, k):
    by_key = k @ q.transpose(-1, -2)
    print("by key:", tuple(by_key.shape))
    return by_key.transpose(-1, -2)
