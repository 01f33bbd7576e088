import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = logits.log_softmax(dim=-1)
    nll = -torch.take_along_dim(log_p, target[..., None], dim=-1)[..., 0]
    losses = (1 - smoothing) * nll + smoothing * -log_p.mean(-1)
    kept = losses.masked_select(target != pad_id)
    return kept.sum() / max(kept.numel(), 1)
