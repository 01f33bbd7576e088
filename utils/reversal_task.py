"""A task that needs all of a long sequence at once: write random symbols in reverse."""

import random
from collections.abc import Callable

from utils.translation import Pairs, as_pairs

SYMBOLS = 20
FIRST_SYMBOL = 3  # after padding, BOS and EOS
VOCABULARY = FIRST_SYMBOL + SYMBOLS


def draw(count: int, lengths: tuple[int, int], generator: random.Random) -> Pairs:
    """Draw strings of random symbols, with lengths between two bounds (both included), and their reversals."""
    symbols = range(FIRST_SYMBOL, VOCABULARY)
    strings = [generator.choices(symbols, k=generator.randint(*lengths)) for _ in range(count)]
    return as_pairs(strings, [string[::-1] for string in strings])


def batches(size: int, lengths: tuple[int, int], seed: int) -> Callable[[int], Pairs]:
    """Make a source of training batches, freshly drawn each time."""
    generator = random.Random(seed)
    return lambda _step: draw(size, lengths, generator)


def written(ids: list[int]) -> str:
    """Write symbols as letters; special tokens are left out."""
    return " ".join(chr(ord("A") + number - FIRST_SYMBOL) for number in ids if number >= FIRST_SYMBOL)
