# mistake: where nothing is asked, the 0 isn't connected to the logits
# hint: make the zero from the logits, `logits.sum() * 0.0`, so that backward() works
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return torch.zeros(())
    return F.cross_entropy(logits[asked], labels[asked])
