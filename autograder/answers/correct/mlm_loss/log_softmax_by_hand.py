import torch


def mlm_loss(logits, labels):
    asked = labels.ne(-100)
    log_p = logits - logits.logsumexp(-1, keepdim=True)
    picked = log_p.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    picked = torch.where(asked, picked, torch.zeros_like(picked))
    return -picked.sum() / max(int(asked.sum()), 1)
