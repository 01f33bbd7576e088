import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    u = torch.rand(ids.shape, generator=generator)  # one number decides everything
    u = u.masked_fill(special, 2.0)
    random_ids = torch.randint(0, vocab_size, ids.shape, generator=generator)
    inputs = torch.where(u < 0.8 * p, torch.full_like(ids, mask_id), ids)
    inputs = torch.where((u >= 0.8 * p) & (u < 0.9 * p), random_ids, inputs)
    labels = ids.masked_fill(u >= p, -100)
    return inputs, labels
