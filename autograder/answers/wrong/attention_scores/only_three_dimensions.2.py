# mistake: works for (B, T, d_k) only: not without a batch, and not with heads
# hint: count dimensions from the end (`transpose(-2, -1)`) and use `@`, which takes any dimensions in front; `bmm` doesn't
import torch

def attention_scores(q, k):
    return torch.einsum("bqd,bkd->bqk", q, k)
