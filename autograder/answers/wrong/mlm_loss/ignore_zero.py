# mistake: id 0 is left out instead of −100
# hint: what isn't asked about carries −100; 0 is the id of a token
import torch
import torch.nn.functional as F


def mlm_loss(logits, labels):
    asked = labels > 0
    if not asked.any():
        return logits.sum() * 0.0
    return F.cross_entropy(logits[asked], labels[asked])
