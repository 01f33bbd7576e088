# mistake: logarithms to base 2: bits, not nats
# hint: cross-entropy uses the natural logarithm
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    nll, uniform = nll / torch.log(torch.tensor(2.0)), uniform / torch.log(torch.tensor(2.0))
    losses = (1 - smoothing) * nll + smoothing * uniform
    keep = target != pad_id
    return (losses * keep).sum() / keep.sum().clamp(min=1)
