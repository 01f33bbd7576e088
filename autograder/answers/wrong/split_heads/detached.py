# mistake: the result is cut off from the graph, so nothing can learn
# hint: no `.detach()`, `.data` or numpy: a reshape and a swap are differentiable by themselves
import torch


def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("uneven")
    return x.detach().reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
