import math
import torch

def _one_query(query, keys, values, open_keys):
    """Attend to the keys that are open, as if the others weren't there."""
    weights = 0 * (keys @ query)
    if not open_keys.any():
        return weights @ values, weights
    index = open_keys.nonzero().squeeze(-1)
    chosen = torch.softmax(keys[index] @ query / math.sqrt(len(query)), dim=0)
    return chosen @ values[index], weights.index_put((index,), chosen)

def scaled_dot_product_attention(q, k, v, mask=None):
    *front, t_q, d_k = q.shape
    t_k, d_v = v.shape[-2:]
    allowed = torch.ones(*front, t_q, t_k, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask
    flat_q, flat_k = q.reshape(-1, t_q, d_k), k.reshape(-1, t_k, d_k)
    flat_v, flat_allowed = v.reshape(-1, t_k, d_v), allowed.reshape(-1, t_q, t_k)
    outputs, weights = [], []
    for b in range(len(flat_q)):
        for i in range(t_q):
            output, weight = _one_query(flat_q[b, i], flat_k[b], flat_v[b], flat_allowed[b, i])
            outputs.append(output)
            weights.append(weight)
    return torch.stack(outputs).reshape(*front, t_q, d_v), torch.stack(weights).reshape(*front, t_q, t_k)
