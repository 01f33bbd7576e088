# mistake: a padding mask is put on the query axis instead of the key axis
# hint: keys are the last dimension of the scores, and a mask (B, 1, T_k) fits there as it is: don't transpose it
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        if mask.dim() == 3 and mask.shape[1] == 1:
            mask = mask.transpose(1, 2)
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ v, weights
