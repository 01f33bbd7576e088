# mistake: the loss is a plain number: nothing can learn from it
# hint: return the tensor itself, without .item() or .detach()
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked], labels[asked]).detach()
