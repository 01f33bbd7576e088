# mistake: vocab_size itself is drawn, an id that doesn't exist
# hint: ids go from 0 to vocab_size − 1; the upper end of torch.randint is left out
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swapped] = torch.randint(vocab_size + 1, ids.shape, generator=generator)[swapped]
    return inputs, labels
