# mistake: no gradient flows back through the weights to q and k
# hint: stay with tensor operations: no `.detach()`, `.data`, numpy or `torch.no_grad()`
import math
import numpy as np
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = np.matmul(q.detach().numpy(), np.swapaxes(k.detach().numpy(), -1, -2)) / math.sqrt(q.shape[-1])
    scores = torch.from_numpy(scores).to(q.dtype)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return torch.from_numpy(np.matmul(weights.numpy(), v.detach().numpy())), weights
