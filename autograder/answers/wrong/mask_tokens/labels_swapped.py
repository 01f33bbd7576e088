# mistake: −100 stands where tokens were chosen, the true id elsewhere
# hint: turn it round: the true id where a token was chosen, −100 elsewhere
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    labels = torch.where(chosen, -100, ids)
    fate = torch.rand(ids.shape, generator=generator)
    inputs = ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swapped] = torch.randint(vocab_size, ids.shape, generator=generator)[swapped]
    return inputs, labels
