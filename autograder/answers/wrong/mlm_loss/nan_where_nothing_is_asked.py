# mistake: the loss is NaN where nothing is asked
# hint: a mean over nothing is 0 / 0: treat that case apart, with a zero that is connected to the logits
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    return F.cross_entropy(logits[asked], labels[asked])
