# mistake: the logarithm of a softmax overflows for large logits
# hint: use log_softmax or cross_entropy, which subtract the largest logit first
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return -(logits[asked].exp() / logits[asked].exp().sum(-1, keepdim=True)).gather(-1, labels[asked][:, None]).log().mean()
