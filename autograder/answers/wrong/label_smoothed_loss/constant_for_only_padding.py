# mistake: a batch of nothing but padding gives a constant, which isn't connected to the logits
# hint: let the sum over no tokens be the result: (losses * keep).sum() is 0 and sends back zeros
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = (1 - smoothing) * nll + smoothing * uniform
    keep = target != pad_id
    if not keep.any():
        return torch.tensor(0.0)
    return (losses * keep).sum() / keep.sum().clamp(min=1)
