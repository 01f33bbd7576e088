import torch
import torch.nn.functional as F


def label_smoothed_loss(logits, target, smoothing=0.1, pad_id=0):

    one_hot = F.one_hot(target, logits.shape[-1]).to(logits.dtype)
    wanted = (1 - smoothing) * one_hot + smoothing / logits.shape[-1]
    per_token = torch.logsumexp(logits, dim=-1) - (wanted * logits).sum(dim=-1)
    per_token = torch.where(target == pad_id, torch.zeros_like(per_token), per_token)
    return per_token.sum() / (target != pad_id).sum().clamp(min=1)
