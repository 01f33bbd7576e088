import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    """As the first implementation did: a fixed share of all tokens that aren't special, in random order."""
    free = (~special).flatten().nonzero().squeeze(1)
    order = free[torch.randperm(len(free), generator=generator)]
    chosen = order[: round(p * len(free))]
    inputs, labels = ids.flatten().clone(), torch.full_like(ids.flatten(), -100)
    labels[chosen] = inputs[chosen]
    fate = torch.rand(len(chosen), generator=generator)
    noise = torch.randint(vocab_size, (len(chosen),), generator=generator)
    inputs[chosen] = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, noise, inputs[chosen]))
    return inputs.view(ids.shape), labels.view(ids.shape)
