import torch
import torch.nn.functional as F


def fine_tune(model, batches, epochs, encoder_lr, head_lr, weight_decay=0.01):
    inside = {id(p) for p in model.encoder.parameters()}
    learning = [p for p in model.parameters() if p.requires_grad]
    first = [torch.zeros_like(p) for p in learning]
    second = [torch.zeros_like(p) for p in learning]
    total = epochs * len(batches)
    warmup = max(1, round(total / 10))
    model.train()
    history = []
    for step in range(1, total + 1):
        ids, padding, labels = batches[(step - 1) % len(batches)]
        loss = F.cross_entropy(model(ids, padding), labels)
        grads = torch.autograd.grad(loss, learning)
        norm = torch.cat([g.flatten() for g in grads]).norm()
        scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        share = step / warmup if step <= warmup else (total + 1 - step) / (total + 1 - warmup)
        with torch.no_grad():
            for p, g, m, v in zip(learning, grads, first, second):
                rate = share * (encoder_lr if id(p) in inside else head_lr)
                if p.dim() > 1:
                    p.mul_(1 - rate * weight_decay)
                m.mul_(0.9).add_(scale * g, alpha=0.1)
                v.mul_(0.999).add_((scale * g) ** 2, alpha=0.001)
                p.sub_(rate * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8))
        history.append(loss.item())
    return history
