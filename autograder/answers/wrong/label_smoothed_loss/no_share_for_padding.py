# mistake: the class of padding gets no share of the smoothing
# hint: spread smoothing over all V classes, padding's included; what is left out is padding among the targets
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    V = logits.shape[-1]
    log_p = torch.log_softmax(logits, dim=-1)
    soft = torch.full_like(log_p, smoothing / V)
    soft.scatter_(-1, target.unsqueeze(-1), 1 - smoothing + smoothing / V)
    soft[..., pad_id] = 0
    losses = -(soft * log_p).sum(-1)
    keep = target != pad_id
    return (losses * keep).sum() / keep.sum().clamp(min=1)
