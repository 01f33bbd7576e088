# mistake: labels of −100 are counted as if the right answer were id 0
# hint: leave out the tokens that carry −100: clamping makes them ask for id 0
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten().clamp(min=0))
