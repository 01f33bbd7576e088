# mistake: `transpose_` turns the caller's own k round
# hint: the underscore means in place; `transpose` without it leaves k as it was
import torch

def attention_scores(q, k):
    return q @ k.transpose_(-2, -1)
