# mistake: keys after the query are hidden already, but scores belong to all pairs
# hint: return every dot product; masks come later, and only where one is given
import torch

def attention_scores(q, k):
    scores = q @ k.transpose(-2, -1)
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    return scores.masked_fill(~seen, float("-inf"))
