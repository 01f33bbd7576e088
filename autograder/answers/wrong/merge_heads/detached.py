# mistake: the result is cut off from the graph, so nothing can learn
# hint: no `.detach()`, `.data` or numpy: a swap and a reshape are differentiable by themselves
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.detach().transpose(1, 2).reshape(B, T, H * d_k)
