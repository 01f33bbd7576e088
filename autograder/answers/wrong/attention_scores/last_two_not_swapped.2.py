# mistake: the shapes of the product don't fit, since the last two dimensions of k aren't the ones that are exchanged
# hint: exchange the last two dimensions of k and only those, counted from the end: `k.transpose(-2, -1)`
import torch

def attention_scores(q, k):
    return torch.matmul(q, k.T)
