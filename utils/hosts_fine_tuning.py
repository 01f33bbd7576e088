"""Hosts for chapter 07's last exercises: an encoder to classify with, and classifiers whose training can be read back."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Parameters of a TracedClassifier: of all numbers of dimensions, and with names that tell nothing about them.
ENCODER = {"table": (3, 5), "kernel": (2, 2, 3), "relative_bias": (2, 4), "bias": (6,), "scale": ()}
HEAD = {"weight": (2, 6), "bias": (2,)}


class TableEncoder(nn.Module):
    """A row of a table for each id, moved by its place, by the mean over real tokens, and by a second kind of segment.

    So a state depends on everything that an encoder is given, and padding positions have states of their own.
    """

    def __init__(self, table: Tensor, mix: float = 0.5) -> None:
        super().__init__()
        self.table = nn.Parameter(table.clone())
        self.d_model, self.mix = table.shape[1], mix

    def forward(self, ids: Tensor, padding: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Map ids (B, T) to (B, T, d_model)."""
        states = self.table[ids]
        real = torch.ones_like(ids, dtype=torch.bool) if padding is None else padding[:, 0]
        share = real.to(states.dtype) / real.sum(1, keepdim=True).clamp(min=1)  # (B, T)
        places = torch.arange(ids.shape[1], dtype=states.dtype)[:, None] * 0.1
        states = states + places
        states = states + self.mix * (share[:, None] @ states)
        return states if segments is None else states + 7.0


class _Parts(nn.Module):
    """A bag of parameters: zeros, but for the last entry of each."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], last: float) -> None:
        super().__init__()
        for name, shape in shapes.items():
            values = torch.zeros(shape, dtype=torch.float64)
            values.view(-1)[-1] = last
            self.register_parameter(name, nn.Parameter(values))


class TracedClassifier(nn.Module):
    """A classifier whose scores are set from outside and whose gradients are known exactly, and that keeps a diary.

    The scores of a sample are row `ids[:, 0]` of `scores` (N, C), plus 0.1 per real token for the last class. Each parameter
    gets the gradient `pull[row] · p₀ · slope`, where p₀ is the first class's probability (labels are never the first class)
    and slope rises along the parameter's entries from 1 to 2. Values of parameters change no score.
    """

    def __init__(self, scores: Tensor, pull: Tensor, last: float = 0.0, frozen_encoder: bool = False) -> None:
        super().__init__()
        self.encoder = _Parts(ENCODER, last)
        self.encoder.norm = _Parts({"weight": (7,)}, last)
        self.encoder.still = _Parts({"weight": (4, 2)}, last).requires_grad_(False)
        if frozen_encoder:
            self.encoder.requires_grad_(False)
        self.pooler = _Parts(HEAD, last)
        self.classifier = _Parts(HEAD, last)
        self.scores, self.pull = scores.double(), pull.double()
        self.slopes = {name: slope_of(value) for name, value in self.named_parameters()}
        self.rows: list[int] = []
        self.modes: list[str] = []
        self.snapshots: list[dict[str, Tensor]] = []

    def forward(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        """Map ids (B, T) and padding (B, 1, T) to scores (B, C), and note what it was asked, and how it is."""
        self.rows.append(int(ids[0, 0]))
        parts = {"model": self.training, "encoder": self.encoder.training}
        self.modes.append("train" if all(parts.values()) else "eval")
        self.snapshots.append(self._now())
        scores = self.scores[ids[:, 0]].clone()
        if padding is not None:
            scores[:, -1] += 0.1 * padding.sum(dim=(1, 2))
        return scores + F.one_hot(torch.zeros_like(ids[:, 0]), scores.shape[1]) * self._nothing(ids[:, 0])

    def _now(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.named_parameters()}

    def _nothing(self, rows: Tensor) -> Tensor:
        """Give zeros (B, 1) that pull at every parameter."""
        names, values = zip(*self.named_parameters(), strict=True)
        flat = torch.cat([value.flatten() for value in values])
        zero = (flat - flat.detach()) @ torch.cat([self.slopes[name].flatten() for name in names])
        return (self.pull[rows] * zero)[:, None]

    def trace(self) -> dict[str, Tensor]:
        """Give every parameter's values before each step and at the end: (steps + 1, *shape)."""
        moments = [*self.snapshots, self._now()]
        return {name: torch.stack([moment[name] for moment in moments]) for name in moments[0]}

    def diary(self) -> dict[str, Any]:
        """Give the row of each batch's first sample, and the mode, of every call."""
        return {"rows": list(self.rows), "modes": list(self.modes)}


def slope_of(parameter: Tensor) -> Tensor:
    """Give the direction of a parameter's gradient: from 1 in its first entry to 2 in its last."""
    return torch.linspace(1, 2, parameter.numel(), dtype=torch.float64).reshape(parameter.shape)


class CountingClassifier(nn.Module):
    """Says which of two kinds of word a text has more of, once it has learned the words."""

    def __init__(self, vectors: Tensor, head: Tensor) -> None:
        super().__init__()
        self.encoder = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
        self.classifier = nn.Linear(vectors.shape[1], head.shape[0])
        with torch.no_grad():
            self.classifier.weight.copy_(head)
            self.classifier.bias.zero_()

    def forward(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        """Map ids (B, T) and padding (B, 1, T) to scores (B, C)."""
        real = torch.ones_like(ids)[:, None] if padding is None else padding
        share = real / real.sum(-1, keepdim=True)  # (B, 1, T)
        return self.classifier((share.to(self.encoder.weight.dtype) @ self.encoder(ids))[:, 0])


FINE_TUNING_HOSTS = {
    "table_encoder": TableEncoder,
    "traced_classifier": TracedClassifier,
    "counting_classifier": CountingClassifier,
    "word_set": set,
}
