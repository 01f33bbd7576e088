# mistake: a query that may attend to nothing spreads its weight evenly over hidden keys
# hint: where a row of the mask is all False the weights are 0: after softmax, multiply by the mask or fill with 0 where it is False
import math
import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + (~mask) * -1e9
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights
