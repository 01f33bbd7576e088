import math
import torch

def softmax(x, dim=-1):
    m = x.amax(dim=dim, keepdim=True)
    shifted = x - torch.nan_to_num(m, neginf=0.0)
    powers = torch.exp2(shifted * math.log2(math.e))
    total = powers.sum(dim=dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)
