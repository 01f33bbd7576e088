import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    t_q, t_k = q.shape[-2], k.shape[-2]
    shape = q.shape[:-1] + (t_k,)
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    outputs, weights = [], []
    for i in range(t_q):
        dots = [(q[..., i, :] * k[..., j, :]).sum(-1) / math.sqrt(q.shape[-1]) for j in range(t_k)]
        row = torch.stack(dots, dim=-1).masked_fill(~allowed[..., i, :], float("-inf"))
        w = torch.nan_to_num(torch.softmax(row, dim=-1))
        outputs.append((w.unsqueeze(-1) * v).sum(dim=-2))
        weights.append(w)
    return torch.stack(outputs, dim=-2), torch.stack(weights, dim=-2)
