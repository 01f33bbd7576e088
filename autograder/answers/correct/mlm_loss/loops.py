def mlm_loss(logits, labels):
    losses = []
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            if labels[b, t] != -100:
                losses.append(logits[b, t].logsumexp(0) - logits[b, t, labels[b, t]])
    if not losses:
        return 0 * logits.sum()
    return sum(losses) / len(losses)
