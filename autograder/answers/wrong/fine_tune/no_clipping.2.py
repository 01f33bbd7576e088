# mistake: gradients aren't clipped before the step
# hint: between `loss.backward()` and `optimizer.step()`: `nn.utils.clip_grad_norm_(model.parameters(), 1.0)`; before backward and after the step it comes too early or too late
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def fine_tune(model, batches, epochs, encoder_lr, head_lr, weight_decay=0.01):
    groups = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        rate = encoder_lr if name.startswith("encoder.") else head_lr
        decay = weight_decay if parameter.ndim >= 2 else 0.0
        groups.append({"params": [parameter], "lr": rate, "weight_decay": decay})
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
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scheduler.step()
            losses.append(loss.item())
    return losses
