# mistake: the target's own share of the smoothing is missing: it gets 1 − smoothing, the others smoothing / V
# hint: the target gets 1 − smoothing + smoothing / V, so that the weights add up to 1
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    V = logits.shape[-1]
    log_p = torch.log_softmax(logits, dim=-1)
    soft = torch.full_like(log_p, smoothing / V)
    soft.scatter_(-1, target.unsqueeze(-1), 1 - smoothing)
    losses = -(soft * log_p).sum(-1)
    keep = target != pad_id
    return (losses * keep).sum() / keep.sum().clamp(min=1)
