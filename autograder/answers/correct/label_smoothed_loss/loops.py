import torch


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    B, T, V = logits.shape
    total = logits.sum() * 0
    count = 0
    for b in range(B):
        for t in range(T):
            if target[b, t] == pad_id:
                continue
            count += 1
            z = logits[b, t]
            log_p = z - torch.logsumexp(z, 0)
            for v in range(V):
                weight = smoothing / V
                if v == target[b, t]:
                    weight = weight + 1 - smoothing
                total = total - weight * log_p[v]
    return total / max(count, 1)
