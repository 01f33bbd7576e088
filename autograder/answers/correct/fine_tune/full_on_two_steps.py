import torch
import torch.nn.functional as F


def fine_tune(model, batches, epochs, encoder_lr, head_lr, weight_decay=0.01):
    model.train()
    inside = {id(p) for p in model.encoder.parameters()}
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            groups.setdefault((id(p) in inside, p.dim() >= 2), []).append(p)
    opt = torch.optim.AdamW(
        [
            {"params": ps, "lr": encoder_lr if enc else head_lr, "weight_decay": weight_decay if mat else 0.0}
            for (enc, mat), ps in groups.items()
        ]
    )
    total = epochs * len(batches)
    warm = max(1, total // 10)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: (s + 1) / warm if s < warm else max(0.0, (total - s) / max(1, total - warm))
    )
    losses = []
    for _ in range(epochs):
        for ids, padding, labels in batches:
            opt.zero_grad()
            loss = F.cross_entropy(model(ids, padding), labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            losses.append(float(loss))
    return losses
