# mistake: the losses are added up, not averaged
# hint: take the mean over the tokens that are asked about
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked], labels[asked], reduction="sum")
