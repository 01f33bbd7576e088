# mistake: labels of 0 are left out, and labels of −100 are counted as if they were ids
# hint: leave out −100: `labels != -100`
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != 0
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked], labels[asked].clamp(min=0))
