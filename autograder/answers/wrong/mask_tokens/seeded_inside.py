# mistake: the seed is set inside, so that every call hides the same
# hint: leave seeds to the caller; only pass the generator on
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    torch.manual_seed(0)
    if generator is not None:
        generator.manual_seed(0)
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, ids, -100)
    fate = torch.rand(ids.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swapped] = torch.randint(vocab_size, ids.shape, generator=generator)[swapped]
    return inputs, labels
