import torch

def softmax(x, dim=-1):
    y = x.clone()
    m = y.detach().amax(dim=dim, keepdim=True)
    m[m == float("-inf")] = 0
    y -= m
    e = y.exp()
    s = e.sum(dim=dim, keepdim=True)
    s = s.masked_fill(s == 0, 1)
    return e.div(s)
