import torch

def attention_scores(q, k):
    wide = q.double() @ k.double().swapaxes(-1, -2)
    return wide.to(q.dtype)
