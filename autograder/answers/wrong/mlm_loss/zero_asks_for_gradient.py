# mistake: where nothing is asked, the 0 is a new tensor that only pretends to learn
# hint: make the zero from the logits, `logits.sum() * 0.0`: a new tensor with requires_grad isn't connected to them
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return torch.zeros((), requires_grad=True)
    return F.cross_entropy(logits[asked], labels[asked])
