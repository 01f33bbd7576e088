# mistake: the sum or the maximum loses its dimension, so it meets the wrong entries
# hint: `keepdim=True` leaves a dimension of size 1, and the result lines up with x again
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    m = m.masked_fill(m == float("-inf"), 0)
    e = torch.exp(x - m)
    return e / e.sum(dim=dim)
