"""A question of order: in a queue of animals, who stands further in front, the cat or the dog?"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

ANIMALS = ("cat", "dog", "hen", "cow", "pig", "goat", "duck", "fox", "owl", "bee", "ant", "hare")
CAT, DOG = 0, 1
LENGTH = 16  # animals in a queue: one cat, one dog, the others anything else
CHANCE = 0.5


class Run(NamedTuple):
    """What a training run leaves: the reader, and its shares of right answers on fresh queues, after so many updates."""

    reader: nn.Module
    steps: list[int]
    shares: list[float]


def draw_queues(batch: int, generator: torch.Generator, length: int = LENGTH) -> tuple[Tensor, Tensor]:
    """Draw queues (batch, length) with one cat and one dog each, and who stands in front (batch,): 0 = cat, 1 = dog."""
    ids = torch.randint(DOG + 1, len(ANIMALS), (batch, length), generator=generator)
    places = torch.rand(batch, length, generator=generator).argsort(-1)[:, :2]  # two different places each
    ids = ids.scatter(1, places, torch.tensor([CAT, DOG]).expand(batch, 2))
    return ids, (places[:, 0] > places[:, 1]).long()


def written(ids: Tensor) -> str:
    """Write one queue in words."""
    return " ".join(ANIMALS[animal] for animal in ids.tolist())


class QueueReader(nn.Module):
    """An embedding, one layer of multi-head attention, the mean over the queue, a linear readout: nothing else."""

    def __init__(self, embedding: nn.Module, attention: nn.Module, d_model: int) -> None:
        super().__init__()
        self.embedding, self.attention = embedding, attention
        self.readout = nn.Linear(d_model, 2)

    def forward(self, ids: Tensor) -> Tensor:
        """Give logits (B, 2) for cat and dog."""
        x = self.embedding(ids)  # (B, T, d_model)
        output, _weights = self.attention(x, x, x)  # (B, T, d_model)
        return self.readout(output.mean(1))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: matrices are so small here that a second one costs more than it helps."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@_one_thread()
@torch.no_grad()
def accuracy(reader: nn.Module, ids: Tensor, answers: Tensor) -> float:
    """Give the share of right answers."""
    training = reader.training
    reader.eval()
    share = (reader(ids).argmax(-1) == answers).double().mean().item()
    reader.train(training)
    return share


@_one_thread()
def train(
    build_embedding: Callable[[], nn.Module],
    build_attention: Callable[[], nn.Module],
    d_model: int,
    steps: int = 300,
    seed: int = 0,
    rate: float = 3e-3,
    every: int = 20,
) -> Run:
    """Train a reader on fresh queues, and ask it about 1,000 others every few steps."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    reader = QueueReader(build_embedding(), build_attention(), d_model)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    test = draw_queues(1000, torch.Generator().manual_seed(10_000 + seed))
    asked, shares = [0], [accuracy(reader, *test)]
    for step in tqdm(range(1, steps + 1), desc="training", unit="step", leave=False):
        ids, answers = draw_queues(64, generator)
        loss = F.cross_entropy(reader(ids), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % every == 0:
            asked.append(step)
            shares.append(accuracy(reader, *test))
    return Run(reader.eval(), asked, shares)
