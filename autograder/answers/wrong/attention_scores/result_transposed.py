# mistake: rows belong to keys and columns to queries
# hint: the result is (..., T_q, T_k): queries come first in the product, or exchange the last two dimensions at the end
import torch

def attention_scores(q, k):
    return k @ q.transpose(-2, -1)
