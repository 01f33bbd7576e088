import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def fine_tune(model, batches, epochs, encoder_lr, head_lr, weight_decay=0.01):
    inside = {id(parameter) for parameter in model.encoder.parameters()}
    groups = []
    for lr, part in (
        (encoder_lr, [p for p in model.parameters() if id(p) in inside]),
        (head_lr, [p for p in model.parameters() if id(p) not in inside]),
    ):
        groups.append({"params": [p for p in part if p.ndim > 1], "lr": lr, "weight_decay": weight_decay})
        groups.append({"params": [p for p in part if p.ndim <= 1], "lr": lr, "weight_decay": 0.0})
    optimizer = torch.optim.AdamW(groups)
    total = len(batches) * epochs
    warmup = max(1, total // 10)

    def factor(step):
        if step < warmup:
            return step / warmup
        return max(0.0, (total - step) / max(1, total - warmup))

    scheduler = LambdaLR(optimizer, factor)
    model.train()
    losses = []
    for epoch in range(epochs):
        for ids, padding, labels in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(ids, padding), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
