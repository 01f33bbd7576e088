"""Train a translator, whatever it is made of, and watch it: loss and exact match against the number of updates.

Nothing here solves an exercise: loss, learning rate and decoding are handed in.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from IPython.display import display
from torch import Tensor, nn
from tqdm.auto import tqdm

from utils import plots

PAD, BOS, EOS = 0, 1, 2  # the first three ids of every vocabulary


class Pairs(NamedTuple):
    """Sources and their translations, padded at the end; translations stand between BOS and EOS."""

    src: Tensor  # (B, T_src)
    tgt: Tensor  # (B, T_tgt)


@dataclass
class Course:
    """How a training run went: the smoothed loss of every step, and exact match on held-out pairs at some steps."""

    losses: list[float] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)


def padded(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Make one tensor (B, T) of sequences of ids, padded at the end."""
    width = max(map(len, sequences))
    return torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in sequences])


def as_pairs(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Pairs:
    """Make a batch of sources and targets, the targets with BOS and EOS around them."""
    return Pairs(padded(sources), padded([[BOS, *ids, EOS] for ids in targets]))


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: with matrices as small as these, a second one brings little, and results stay the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def initialise(model: nn.Module, seed: int = 0) -> nn.Module:
    """Draw a model's weights anew: embeddings with deviation d_model^-0.5, every other matrix by Glorot and Bengio's rule.

    Vectors (biases, gains) stay as they are. An output layer that shares its matrix with an embedding counts as embedding.
    """
    torch.manual_seed(seed)
    modules = list(model.modules())
    tables = [module for module in modules if isinstance(module, nn.Embedding)]
    shared = {id(table.weight) for table in tables}
    for parameter in model.parameters():
        if parameter.dim() > 1 and id(parameter) not in shared:
            nn.init.xavier_uniform_(parameter)
    for table in tables:
        nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
        if table.padding_idx is not None:
            table.weight[table.padding_idx].zero_()
    return model


@torch.no_grad()
def right_ones(
    model: nn.Module, pairs: Pairs, decode: Callable[[nn.Module, Tensor], Tensor], chunk: int = 250
) -> Tensor:
    """Say of each pair whether the whole decoded translation is right, EOS included: (B,) bool.

    decode(model, src) gives ids (B, T) as greedy_decode does; what stands behind EOS doesn't matter.
    """
    right = []
    for src, tgt in zip(pairs.src.split(chunk), pairs.tgt[:, 1:].split(chunk), strict=True):
        found = decode(model, src)
        width = max(found.shape[1], tgt.shape[1])
        found, tgt = (nn.functional.pad(ids, (0, width - ids.shape[1]), value=PAD) for ids in (found, tgt))
        right.append(((found == tgt) | (tgt == PAD)).all(1))
    return torch.cat(right)


def least_loss(smoothing: float, classes: int) -> float:
    """Give the least loss that smoothed targets leave: their entropy, in nats."""
    others = smoothing / classes
    target = 1 - smoothing + others
    return -target * math.log(target) - (classes - 1) * others * math.log(others)


def exact_match(model: nn.Module, pairs: Pairs, decode: Callable[[nn.Module, Tensor], Tensor]) -> float:
    """Give the share of pairs whose whole translation is right."""
    with one_thread():
        return right_ones(model, pairs, decode).double().mean().item()


def train(
    model: nn.Module,
    loss_function: Callable[[Tensor, Tensor], Tensor],
    rate: Callable[[int], float],
    draw: Callable[[int], Pairs],
    steps: int,
    held_out: Pairs,
    decode: Callable[[nn.Module, Tensor], Tensor],
    every: int = 100,
    live: "LiveCourse | None" = None,
    name: str = "training",
) -> Course:
    """Train with Adam as in the paper (0.9, 0.98, 1e-9), gradients clipped to norm 1, and watch the course.

    loss_function(logits, target) gives a scalar, rate(step) the learning rate of the step (from 1 on), draw(step) its
    batch. Every `every` steps the model translates the held-out sources with decode(model, src).
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    course, smooth = Course(), None
    model.train()
    with one_thread(), tqdm(range(1, steps + 1), desc=name, unit="step", leave=False) as bar:
        for step in bar:
            loss = _update(model, optimizer, loss_function, rate(step), draw(step))
            smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss
            course.losses.append(smooth)
            if step % every == 0 or step == steps:
                course.asked.append(step)
                course.exact.append(right_ones(model, held_out, decode).double().mean().item())
                bar.set_postfix(loss=f"{smooth:.3f}", exact=f"{course.exact[-1]:.1%}")
                if live is not None:
                    live.draw(name, course)
    model.eval()
    return course


def _update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_function: Callable[[Tensor, Tensor], Tensor],
    rate: float,
    batch: Pairs,
) -> float:
    """Make one update; give the loss before it."""
    loss = loss_function(model(batch.src, batch.tgt[:, :-1]), batch.tgt[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return loss.item()


class LiveCourse:
    """A figure of loss and exact match that is drawn again while training goes on; several runs may share it."""

    def __init__(self, steps: int, title: str, alt: str, floor: float | None = None) -> None:
        """steps: how far the axis goes; floor: the least loss that is possible, drawn as a line."""
        self.steps, self.title, self.alt, self.floor = steps, title, alt, floor
        self.courses: dict[str, Course] = {}
        self._handle = None

    def draw(self, name: str, course: Course) -> None:
        """Draw all runs so far, in the place of the figure before."""
        self.courses[name] = course
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
        for colour, (label, run) in zip(plots.COLOURS, self.courses.items(), strict=False):
            left.plot(range(1, len(run.losses) + 1), run.losses, color=colour, label=label)
            right.plot(run.asked, [100 * share for share in run.exact], "o-", markersize=5, color=colour, label=label)
        if self.floor is not None:
            left.axhline(self.floor, color=plots.BLACK, linewidth=1.5, linestyle=":", label="least possible")
        left.set(xlabel="updates", ylabel="loss (nats per token)", xlim=(0, self.steps), ylim=(0, None))
        right.set(xlabel="updates", ylabel="translations all right (%)", xlim=(0, self.steps), ylim=(0, 103))
        left.legend(loc="upper right")
        right.legend(loc="lower right")
        figure.suptitle(self.title, fontsize=14)
        self._show(figure)

    def _show(self, figure: plt.Figure) -> None:
        metadata = {"image/png": {"alt": self.alt}}
        if self._handle is None:
            self._handle = display(figure, metadata=metadata, display_id=True)
        else:
            self._handle.update(figure, metadata=metadata)
        plt.close(figure)
