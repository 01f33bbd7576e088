# mistake: the tokens that aren't asked about are the ones that count
# hint: turn it round: count where labels aren't −100
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels != -100
    if not asked.any():
        return logits.sum() * 0.0
    return -logits.log_softmax(-1)[~asked].amax(-1).mean()
