# mistake: a loss for each token is returned, not one number
# hint: take the mean: the result is a scalar
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked], labels[asked], reduction="none")
