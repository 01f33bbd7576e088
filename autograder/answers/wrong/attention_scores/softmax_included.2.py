# mistake: softmax is applied, so these are weights and no longer scores
# hint: return the dot products themselves; softmax is the next exercise
import math
import torch
import torch.nn.functional as F

def attention_scores(q, k):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return F.softmax(scores, dim=-1)
