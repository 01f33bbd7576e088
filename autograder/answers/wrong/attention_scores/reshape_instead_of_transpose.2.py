# mistake: k is reshaped to (d_k, T_k), which cuts the numbers anew instead of exchanging rows and columns
# hint: `reshape` and `view` keep the order in memory; to exchange two dimensions use `transpose(-2, -1)`
import torch

def attention_scores(q, k):
    return q @ k.view(*k.shape[:-2], k.shape[-1], k.shape[-2])
