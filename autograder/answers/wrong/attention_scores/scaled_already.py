# mistake: the scores are divided by √d_k here already
# hint: leave the scale out: `scaled_dot_product_attention` divides by √d_k later, and here it would come on top
import math
import torch

def attention_scores(q, k):
    return torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(k.size(-1))
