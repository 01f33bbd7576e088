# mistake: the uniform term is added on top, the target's isn't made smaller
# hint: the weights are 1 − smoothing and smoothing: they add up to 1
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = nll + smoothing * uniform
    keep = target != pad_id
    return (losses * keep).sum() / keep.sum().clamp(min=1)
