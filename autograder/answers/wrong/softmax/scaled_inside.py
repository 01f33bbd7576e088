# mistake: the scores are scaled inside softmax
# hint: softmax has no temperature here; dividing by √d_k belongs to `scaled_dot_product_attention`
import math
import torch

def softmax(x, dim=-1):
    x = x / math.sqrt(x.shape[dim])
    m = x.amax(dim=dim, keepdim=True)
    e = torch.exp(x - m.masked_fill(torch.isinf(m), 0))
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)
