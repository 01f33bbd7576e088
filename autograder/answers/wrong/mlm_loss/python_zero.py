# mistake: where nothing is asked, a Python number is returned
# hint: return a tensor that is connected to the logits: `logits.sum() * 0.0`
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return 0.0
    return F.cross_entropy(logits[asked], labels[asked])
