import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    real = target != pad_id
    picked, wanted = logits[real], target[real]  # (N, V), (N,)
    if len(wanted) == 0:
        return (logits * 0).sum()
    log_p = picked.log_softmax(-1)
    right = log_p[torch.arange(len(wanted)), wanted]
    return -((1 - smoothing) * right + smoothing * log_p.mean(-1)).mean()
