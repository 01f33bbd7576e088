"""What a run of training has done, read off the parameters: the rate of each step, decay, clipping.

Under AdamW a parameter whose gradient is the same at every step moves by exactly the rate of each step, plus rate · decay · value.
So a run on `hosts_fine_tuning.TracedClassifier` tells everything by outcome, whatever the code looks like.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.hosts_fine_tuning import TracedClassifier, slope_of

BETA_1, BETA_2, EPS = 0.9, 0.999, 1e-8
Trace = dict[str, Tensor]  # parameter → its values before each step and at the end, (steps + 1, *shape)


def batch(rows: list[int], labels: list[int], lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Make (ids, padding, labels) for a TracedClassifier: each sample's row, its label, how many of its tokens are real."""
    longest = max(lengths)
    ids = torch.tensor(rows)[:, None].expand(-1, longest).contiguous()
    padding = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return ids, padding[:, None], torch.tensor(labels)


def scores_of(given: tuple[Tensor, Tensor, Tensor], scores: Tensor) -> Tensor:
    """Give a TracedClassifier's scores for a batch."""
    ids, padding, _labels = given
    found = scores.double()[ids[:, 0]].clone()
    found[:, -1] += 0.1 * padding.sum(dim=(1, 2))
    return found


def losses_of(batches: list, scores: Tensor) -> list[float]:
    """Give the cross-entropy of each batch, by its formula."""
    losses = []
    for given in batches:
        logs = scores_of(given, scores).log_softmax(-1)
        losses.append(-logs[torch.arange(len(logs)), given[2]].mean().item())
    return losses


def strengths_of(batches: list, scores: Tensor, pull: Tensor) -> Tensor:
    """Give what a parameter's slope is multiplied by in its gradient, batch by batch."""
    shares = [F.softmax(scores_of(given, scores), -1)[:, 0] * pull.double()[given[0][:, 0]] for given in batches]
    return torch.stack([share.mean() for share in shares])


def first_entry_steps(trace: Trace, name: str) -> Tensor:
    """Give by how much a parameter's first entry, which starts at 0, went down in each step: its rate."""
    values = trace[name].reshape(len(trace[name]), -1)[:, 0]
    return values[:-1] - values[1:]


def decay_of(trace: Trace, name: str) -> float:
    """Give the weight decay that explains how a parameter's last entry, which starts far from 0, moved."""
    rate = first_entry_steps(trace, "encoder.bias" if name == "encoder.scale" else name)
    last = trace[name].reshape(len(trace[name]), -1)[:, -1]
    weight = (rate * last[:-1]).sum().item()
    return ((last[:-1] - last[1:] - rate).sum().item() / weight) if weight else math.nan


def shape_of_schedule(rates: Tensor, full: float, warmup: int) -> dict[str, str]:
    """Say in words how the rates of a run go: where they start, when they are full, how they end."""
    share = rates / full
    is_full = share > share.max() - 1e-6
    top = int(is_full.nonzero()[0])
    first, last, peak = share[0].item(), share[-1].item(), share.max().item()
    twice = bool(is_full[top + 1 : top + 2].any())  # up from "one step up", and down from full: full on two steps
    up, down = share[: top + 1].diff(), share[top + twice :].diff()
    one_step_down = peak / max(1, len(share) - warmup)
    return {
        "first step": "0 or one step up" if abs(first) <= 1 / warmup + 0.02 else "full rate" if first > 0.97 else "else",
        "highest rate": "the one asked for" if 0.9 < peak < 1.02 else "another",
        "reached": "after a tenth" if warmup - 1 <= top <= warmup else "at once" if top == 0 else
                   "sooner than a tenth" if top < warmup else "later than a tenth",
        "up": "in equal steps" if not len(up) or (up - up.mean()).abs().max() < 0.35 * up.mean().abs() else "unevenly",
        "down": "not at all" if not len(down) or down.mean().abs() < 1e-4 else
                "in equal steps" if (down - down.mean()).abs().max() < 0.15 * down.mean().abs() else "unevenly",
        "last step": "below 0" if last < -1e-6 else "about 0" if last <= 2.5 * one_step_down else "far from 0",
    }  # fmt: skip


# clipping


CLIPPINGS = (
    "total norm 1.0", "none", "each parameter by itself", "encoder and head apart", "entry by entry", "encoder only",
    "head only", "always to norm 1.0", "norm 0.1", "norm 0.5", "norm 2.0", "norm 5.0", "norm 10.0", "old gradients stay",
    "old gradients stay, none",
)  # fmt: skip


def _clipped(gradients: Trace, kind: str) -> Trace:
    """Clip one step's gradients in one of the ways that people do."""

    def norm(names: list[str]) -> float:
        return torch.cat([gradients[name].flatten() for name in names]).norm().item()

    names = list(gradients)
    encoder = [name for name in names if name.startswith("encoder.")]
    head = [name for name in names if name not in encoder]
    limit = float(kind.split()[-1]) if kind.split()[-1][0].isdigit() else 1.0
    groups = {
        "none": [],
        "each parameter by itself": [[name] for name in names],
        "encoder and head apart": [encoder, head],
        "entry by entry": [],
        "encoder only": [encoder],
        "head only": [head],
        "old gradients stay, none": [],
    }.get(kind, [names])
    factor = dict.fromkeys(names, 1.0)
    for group in groups:
        share = limit / norm(group)
        factor |= dict.fromkeys(group, share if kind.startswith("always") else min(1.0, share))
    scaled = {name: gradient * factor[name] for name, gradient in gradients.items()}
    return {name: g.clamp(-1, 1) for name, g in scaled.items()} if kind == "entry by entry" else scaled


def directions(model: TracedClassifier, strengths: Tensor, kind: str) -> Trace:
    """Give AdamW's step in units of the rate, for each parameter at each step: (steps, *shape)."""
    slopes = {name: slope_of(value) for name, value in model.named_parameters() if value.requires_grad}
    first = {name: torch.zeros_like(slope) for name, slope in slopes.items()}
    second, gradient = dict(first), dict(first)
    steps: dict[str, list[Tensor]] = {name: [] for name in slopes}
    for step, strength in enumerate(strengths.tolist(), start=1):
        old = gradient if kind.startswith("old") else dict.fromkeys(slopes, 0.0)
        gradient = _clipped({name: old[name] + strength * slope for name, slope in slopes.items()}, kind)
        for name, g in gradient.items():
            first[name] = BETA_1 * first[name] + (1 - BETA_1) * g
            second[name] = BETA_2 * second[name] + (1 - BETA_2) * g**2
            root = (second[name] / (1 - BETA_2**step)).sqrt() + EPS
            steps[name].append(first[name] / (1 - BETA_1**step) / root)
    return {name: torch.stack(found) for name, found in steps.items()}


def clipping_that_explains(trace: Trace, rates: dict[str, Tensor], model: TracedClassifier, strengths: Tensor) -> str:
    """Name the way of clipping under which AdamW moves as this trace does; rates are those of an even run as long."""
    for kind in CLIPPINGS:
        expected = directions(model, strengths, kind)
        if all(_fits(trace[name], rates[name], steps) for name, steps in expected.items()):
            return kind
    return "none of the usual"


def _fits(values: Tensor, rates: Tensor, steps: Tensor) -> bool:
    moved = values[:-1] - values[1:]
    expected = rates.view(-1, *([1] * (steps.dim() - 1))) * steps
    return bool(torch.allclose(moved, expected, rtol=0, atol=2e-3 * rates.abs().max().item()))
