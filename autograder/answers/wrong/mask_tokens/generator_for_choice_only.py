# mistake: only the choice uses the generator, not the fates
# hint: give the generator to every draw
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape)
    inputs = ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swapped] = torch.randint(vocab_size, ids.shape, generator=generator)[swapped]
    return inputs, labels
