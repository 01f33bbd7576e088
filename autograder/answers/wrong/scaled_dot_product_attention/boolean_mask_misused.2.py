# mistake: the boolean mask is used where Python or PyTorch wants a number or a single truth value
# hint: `if mask is not None:` asks whether there is a mask, and `~mask` turns it round (`1 - mask` isn't defined for booleans)
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
