# mistake: the number that chose a token decides its fate too: all chosen ones are below p, so all become mask_id
# hint: draw again for the fate, or scale the thresholds by p
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    fate = torch.rand(ids.shape, generator=generator)
    chosen = (fate < p) & ~special
    labels = torch.where(chosen, ids, -100)
    inputs = ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swapped] = torch.randint(vocab_size, ids.shape, generator=generator)[swapped]
    return inputs, labels
