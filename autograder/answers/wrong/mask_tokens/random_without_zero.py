# mistake: random ids start at 1: id 0 is never drawn
# hint: `torch.randint(vocab_size, …)` draws from 0 to vocab_size − 1, and that is the whole vocabulary
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swapped] = torch.randint(1, vocab_size, ids.shape, generator=generator)[swapped]
    return inputs, labels
