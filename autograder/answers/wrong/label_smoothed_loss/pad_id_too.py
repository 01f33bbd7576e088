# mistake: both id 0 and pad_id are left out
# hint: only pad_id is padding; 0 is a token like any other
import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    uniform = -log_p.mean(dim=-1)
    losses = (1 - smoothing) * nll + smoothing * uniform
    keep = (target != pad_id) & (target > 0)
    return (losses * keep).sum() / keep.sum().clamp(min=1)
