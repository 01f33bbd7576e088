# mistake: `view` fails on tensors that aren't contiguous, as heads are after a transpose
# hint: use `reshape` in place of `view`, or no flattening at all: `@` takes any dimensions in front
import torch

def attention_scores(q, k):
    flat_q = q.view(-1, q.size(-2), q.size(-1))
    flat_k = k.view(-1, k.size(-2), k.size(-1))
    scores = torch.bmm(flat_q, flat_k.transpose(1, 2))
    return scores.view(*q.shape[:-1], k.size(-2))
