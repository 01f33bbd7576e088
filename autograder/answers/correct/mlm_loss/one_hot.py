import torch
import torch.nn.functional as F


def mlm_loss(logits, labels, ignore=-100):
    rows = (labels != ignore).nonzero(as_tuple=True)
    log_p = F.log_softmax(logits[rows], dim=-1)
    target = F.one_hot(labels[rows], logits.shape[-1]).to(log_p.dtype)
    return -(log_p * target).sum() / max(len(rows[0]), 1)
