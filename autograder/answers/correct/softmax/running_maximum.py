import torch

def softmax(x, dim=-1):
    """One pass over the entries, as FlashAttention does it: the sum is rescaled whenever the maximum rises."""
    entries = x.unbind(dim)
    zero = torch.zeros_like(entries[0])
    top, total = torch.full_like(zero, torch.finfo(x.dtype).min), zero
    for entry in entries:
        new_top = torch.maximum(top, entry.detach())
        total = total * torch.exp(top - new_top) + torch.exp(entry - new_top)
        top = new_top
    total = torch.where(total == 0, torch.ones_like(total), total)
    return torch.stack([torch.exp(entry - top) / total for entry in entries], dim=dim)
