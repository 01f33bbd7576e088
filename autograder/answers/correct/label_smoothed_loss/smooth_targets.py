import torch
import torch.nn.functional as F


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    V = logits.shape[-1]
    log_p = F.log_softmax(logits, dim=-1)
    q = torch.full_like(log_p, smoothing / V)
    q.scatter_(-1, target.unsqueeze(-1), 1 - smoothing + smoothing / V)
    loss = -(q * log_p).sum(-1)
    keep = (target != pad_id).to(loss.dtype)
    return (loss * keep).sum() / keep.sum().clamp(min=1)
