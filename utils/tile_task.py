"""A task with two relations: for every tile in a ring, read its left neighbour's digit and its twin's digit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

LETTERS, DIGITS = "ABCDEF", 10
TILES = 2 * len(LETTERS)  # each letter lies there twice
RELATIONS = ("left neighbour", "twin")


class Rings(NamedTuple):
    """A batch of rings: what is on the tiles, what is asked, and where the answers lie."""

    letters: Tensor  # (B, T)
    digits: Tensor  # (B, T)
    targets: Tensor  # (2, B, T): the digit of the left neighbour, the digit of the twin
    sources: Tensor  # (2, B, T): the places of both


def draw_rings(batch: int, generator: torch.Generator) -> Rings:
    """Draw rings of twelve tiles: every letter twice, in any order, each with a digit of its own."""
    places = torch.rand(batch, TILES, generator=generator).argsort(dim=-1)  # (B, T)
    letters = places % len(LETTERS)  # (B, T)
    digits = torch.randint(DIGITS, (batch, TILES), generator=generator)  # (B, T)
    left = (torch.arange(TILES) - 1) % TILES
    twin = places.argsort(dim=-1).gather(1, (places + len(LETTERS)) % TILES)  # (B, T)
    sources = torch.stack([left.expand(batch, TILES), twin])  # (2, B, T)
    targets = torch.stack([digits.gather(1, source) for source in sources])  # (2, B, T)
    return Rings(letters, digits, targets, sources)


def names_of(rings: Rings, which: int = 0) -> list[str]:
    """Write the tiles of one ring as people do: B7."""
    pairs = zip(rings.letters[which].tolist(), rings.digits[which].tolist(), strict=True)
    return [f"{LETTERS[letter]}{digit}" for letter, digit in pairs]


class TileReader(nn.Module):
    """Tiles as vectors, one layer of attention, and a linear readout for each of the two questions; nothing else."""

    def __init__(self, attention: nn.Module, d_model: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), d_model)
        self.digits = nn.Embedding(DIGITS, d_model)
        self.places = nn.Embedding(TILES, d_model)
        self.attention = attention
        self.readouts = nn.ModuleList([nn.Linear(d_model, DIGITS) for _ in RELATIONS])

    def tiles(self, rings: Rings) -> Tensor:
        """Give one vector per tile, the sum of letter, digit and place: (B, T, d_model)."""
        return self.letters(rings.letters) + self.digits(rings.digits) + self.places.weight

    def forward(self, rings: Rings) -> tuple[Tensor, Tensor]:
        """Give logits (2, B, T, 10) for the two questions and the weights (B, H, T, T)."""
        x = self.tiles(rings)  # (B, T, d_model)
        output, weights = self.attention(x, x, x)
        return torch.stack([readout(output) for readout in self.readouts]), weights


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: with matrices as small as these, a second one costs more than it brings."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(
    build_attention: Callable[[], nn.Module], d_model: int, steps: int, seed: int = 0, rate: float = 4e-3
) -> TileReader:
    """Train a reader on fresh rings; `build_attention` makes its attention layer."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    reader = TileReader(build_attention(), d_model)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    with one_thread():
        for _ in tqdm(range(steps), desc=f"training, {reader.attention.n_heads} head(s)", unit="step"):
            rings = draw_rings(64, generator)
            logits, _weights = reader(rings)
            loss = F.cross_entropy(logits.flatten(0, 2), rings.targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return reader.eval()


@torch.no_grad()
def accuracy(reader: TileReader, rings: Rings) -> Tensor:
    """Give the share of right digits for both questions: (2,)."""
    logits, _weights = reader(rings)
    return (logits.argmax(-1) == rings.targets).double().mean((1, 2))


@torch.no_grad()
def looked_at(reader: TileReader, rings: Rings) -> Tensor:
    """Give each head's mean weight on the left neighbour and on the twin: (H, 2)."""
    _logits, weights = reader(rings)  # (B, H, T, T)
    index = rings.sources.permute(1, 2, 0).unsqueeze(1).expand(-1, weights.shape[1], -1, -1)  # (B, H, T, 2)
    return weights.gather(-1, index).mean((0, 2))
