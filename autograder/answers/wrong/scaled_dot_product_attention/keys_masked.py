# mistake: hidden keys are set to 0, which gives them the score 0 and still some weight
# hint: hide the scores, not the keys: −∞ before softmax
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    if mask is not None:
        k = k * mask.transpose(-2, -1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
