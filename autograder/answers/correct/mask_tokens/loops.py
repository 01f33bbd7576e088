import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    """Token by token; the draws are made at once, since single ones are slow."""
    dice = torch.rand(2, *ids.shape, generator=generator).tolist()
    random_ids = torch.randint(vocab_size, ids.shape, generator=generator).tolist()
    inputs, labels = ids.tolist(), ids.tolist()
    closed = special.tolist()
    for b in range(len(inputs)):
        for t in range(len(inputs[b])):
            if closed[b][t] or dice[0][b][t] >= p:
                labels[b][t] = -100
            elif dice[1][b][t] < 0.8:
                inputs[b][t] = mask_id
            elif dice[1][b][t] < 0.9:
                inputs[b][t] = random_ids[b][t]
    return torch.tensor(inputs, dtype=ids.dtype), torch.tensor(labels, dtype=ids.dtype)
