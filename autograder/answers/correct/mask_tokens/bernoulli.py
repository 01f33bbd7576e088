import torch
from torch import Tensor


def mask_tokens(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    p: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    def coin(probability):
        return torch.bernoulli(torch.full(ids.shape, probability), generator=generator).bool()

    chosen = coin(p) & ~special
    labels = ids.clone()
    labels[~chosen] = -100
    hidden = coin(0.8) & chosen
    noisy = coin(0.5) & chosen & ~hidden  # half of the remaining 20 %
    inputs = ids.clone()
    inputs[hidden] = mask_id
    inputs[noisy] = torch.randint(vocab_size, (int(noisy.sum()),), generator=generator)
    return inputs, labels
