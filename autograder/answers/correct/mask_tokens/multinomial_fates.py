import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None, shares=(0.8, 0.1, 0.1)):
    weight = torch.full(ids.shape, float(p)).masked_fill(special, 0.0)
    where = torch.bernoulli(weight, generator=generator).nonzero(as_tuple=True)
    count = len(where[0])
    inputs, labels = ids.clone(), torch.full_like(ids, -100)
    labels[where] = ids[where]
    if count:
        fate = torch.multinomial(torch.tensor(shares), count, replacement=True, generator=generator)
        noise = torch.randint(high=vocab_size, size=(count,), generator=generator)
        options = torch.stack([torch.full((count,), mask_id), noise, ids[where]])
        inputs[where] = options.gather(0, fate[None])[0]
    print(f"{count} tokens chosen")
    return inputs, labels
