# mistake: a small number is put under the logarithm, so that large losses are cut off
# hint: log_softmax computes both at once and needs no floor
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log(logits.softmax(-1) + 1e-9)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = (1 - smoothing) * nll + smoothing * uniform
    keep = target != pad_id
    return (losses * keep).sum() / keep.sum().clamp(min=1)
