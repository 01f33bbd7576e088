# mistake: the softmax runs over positions instead of over the vocabulary
# hint: bring the vocabulary to the second place by a transpose, or flatten (B, T); a reshape mixes numbers up
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits.reshape(logits.shape[0], logits.shape[2], -1), labels)
