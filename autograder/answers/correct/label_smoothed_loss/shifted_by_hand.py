import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    V = logits.size(-1)
    flat = logits.reshape(-1, V)
    ids = target.reshape(-1)
    flat = flat - flat.max(dim=1, keepdim=True).values.detach()
    log_p = flat - flat.exp().sum(dim=1, keepdim=True).log()
    eps = smoothing / V
    loss = -(1 - smoothing) * log_p.gather(1, ids[:, None])[:, 0] - eps * log_p.sum(dim=1)
    mask = ids != pad_id
    n = mask.sum()
    print("tokens:", int(n))
    return (loss * mask).sum() / (n if n > 0 else 1)
