# mistake: target is changed in place
# hint: work on a copy: masked_fill without the underscore
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    keep = target != pad_id
    target += 1 - keep.long() * 1
    target -= 1
    target.masked_fill_(~keep, 0)
    nll = -log_p.gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = (1 - smoothing) * nll + smoothing * uniform
    return (losses * keep).sum() / keep.sum().clamp(min=1)
