# mistake: softmax is applied before the cross-entropy, which applies it itself
# hint: cross-entropy takes logits: leave the softmax out
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked].softmax(-1), labels[asked])
