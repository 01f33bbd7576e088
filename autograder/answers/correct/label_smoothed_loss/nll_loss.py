import torch
import torch.nn.functional as F


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    log_p = torch.log_softmax(logits, dim=-1)
    total = F.nll_loss(log_p.flatten(0, 1), target.flatten(), ignore_index=pad_id, reduction="sum")
    mask = target.ne(pad_id)
    uniform = -(log_p.mean(dim=-1) * mask).sum()
    return ((1 - smoothing) * total + smoothing * uniform) / max(int(mask.sum()), 1)
