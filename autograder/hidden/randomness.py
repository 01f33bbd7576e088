"""Random inputs of hidden tests: the same for the same secret and submission, unforeseeable without the secret."""

import hashlib

import torch
from torch import Tensor


class Randomness:
    """A source of tensors and sizes, seeded by a few words."""

    def __init__(self, *words: str) -> None:
        digest = hashlib.sha256("\0".join(words).encode()).digest()
        self._generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def normal(self, *shape: int, dtype: torch.dtype = torch.float64, std: float = 1.0) -> Tensor:
        """Draw normal numbers of mean 0."""
        drawn = torch.randn(shape, generator=self._generator, dtype=torch.float64)
        return (drawn if std == 1.0 else std * drawn).to(dtype)

    def integer(self, low: int, high: int) -> int:
        """Draw one whole number from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Draw whole numbers from low to high, both included."""
        return torch.randint(low, high + 1, shape, generator=self._generator)

    def order(self, size: int) -> Tensor:
        """Draw a permutation."""
        return torch.randperm(size, generator=self._generator)

    def sizes(self, count: int, low: int = 3, high: int = 11) -> list[int]:
        """Draw sizes that are pairwise different and none the square of another, so that no mix-up stays hidden."""
        chosen: list[int] = []
        for candidate in (self.order(high - low + 1) + low).tolist():
            if not any(candidate**2 == other or other**2 == candidate for other in chosen):
                chosen.append(candidate)
            if len(chosen) == count:
                return chosen
        raise ValueError(f"there aren't {count} such sizes from {low} to {high}")

    def mask(self, *shape: int, share: float = 0.6) -> Tensor:
        """Draw a boolean mask in which every row of the last dimension has both a True and a False (from width 2 on)."""
        mask = torch.rand(shape, generator=self._generator) < share
        width = shape[-1]
        where = torch.randint(width, shape[:-1], generator=self._generator).unsqueeze(-1)
        mask = mask.scatter(-1, where, True)
        return mask.scatter(-1, (where + 1) % width, False) if width > 1 else mask
