import torch
from torch import nn


class SmoothedLoss(nn.Module):
    def __init__(self, smoothing, pad_id):
        super().__init__()
        self.smoothing = smoothing
        self.pad_id = pad_id
        self.log_softmax = nn.LogSoftmax(dim=-1)

    def forward(self, logits, target):
        classes = logits.shape[-1]
        dist = torch.zeros_like(logits) + self.smoothing / classes
        dist = dist.scatter_add(-1, target[..., None], torch.full_like(logits[..., :1], 1 - self.smoothing))
        dist = dist.masked_fill((target == self.pad_id)[..., None], 0.0)
        total = -torch.einsum("btv,btv->", dist, self.log_softmax(logits))
        return total / (target != self.pad_id).sum().clamp_min(1)


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0, verbose=False):

    return SmoothedLoss(smoothing, pad_id)(logits, target)
