import numpy as np
import torch


def mask_tokens(ids, special, mask_id, vocab_size, p=0.15, generator=None):
    seed = int(torch.randint(2**62, (1,), generator=generator))  # numpy does the rest
    rng = np.random.default_rng(seed)
    table = ids.numpy().copy()
    chosen = (rng.random(table.shape) < p) & ~special.numpy()
    labels = np.where(chosen, table, -100)
    fate = rng.choice(3, size=table.shape, p=[0.8, 0.1, 0.1])
    table = np.where(chosen & (fate == 0), mask_id, table)
    table = np.where(chosen & (fate == 1), rng.integers(0, vocab_size, table.shape), table)
    return torch.from_numpy(table), torch.from_numpy(labels)
