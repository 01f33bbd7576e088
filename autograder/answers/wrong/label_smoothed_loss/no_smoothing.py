# mistake: there is no smoothing: plain cross-entropy
# hint: mix the target's −log p with the mean of −log p over all classes, 1 − smoothing to smoothing
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = nll
    keep = target != pad_id
    return (losses * keep).sum() / keep.sum().clamp(min=1)
