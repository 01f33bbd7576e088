# mistake: each sentence is averaged first, so that tokens of sentences with few questions count more
# hint: take one mean over all tokens that are asked about in the batch
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    rows = [F.cross_entropy(a[m], b[m]) for a, b, m in zip(logits, labels, asked) if m.any()]
    return torch.stack(rows).mean()
