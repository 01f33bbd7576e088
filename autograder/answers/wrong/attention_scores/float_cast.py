# mistake: always computes and returns float32
# hint: keep the dtype of the inputs: no `.float()`, no dtype of your own
import torch

def attention_scores(q, k):
    return q.float() @ k.float().transpose(-2, -1)
