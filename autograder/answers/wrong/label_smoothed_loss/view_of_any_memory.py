# mistake: view fails on tensors that aren't contiguous
# hint: use reshape or flatten, which copy where they must
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = (1 - smoothing) * nll + smoothing * uniform
    keep = target.view(-1) != pad_id
    losses = losses.view(-1)
    return (losses * keep).sum() / keep.sum().clamp(min=1)
