# mistake: only 2 % become random ids: 10 % of the remaining 20 %, or most of them are overwritten by mask_id
# hint: decide once per token: one draw with thresholds 0.8 and 0.9, or give half of the remaining 20 % a random id: 10 % in all
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape, generator=generator)
    inputs = ids.clone()
    swapped = chosen & (fate < 0.1)
    inputs[swapped] = torch.randint(vocab_size, ids.shape, generator=generator)[swapped]
    inputs[chosen & (torch.rand(ids.shape, generator=generator) < 0.8)] = mask_id
    return inputs, labels
