# mistake: every chosen token becomes mask_id
# hint: only 80 % of the chosen become mask_id; 10 % get a random id, and 10 % stay as they are
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen] = mask_id
    return inputs, labels
