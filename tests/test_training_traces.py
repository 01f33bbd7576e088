"""Traces of training against PyTorch's own optimiser: what is read off is what was done."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils import training_traces as traces
from utils.hosts_fine_tuning import TracedClassifier, slope_of

SCORES = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
EVEN = torch.full((6,), 2.0)
VARIED = torch.tensor([25.0, 0.1, 6.0, 0.05, 0.1, 0.2])
BATCHES = [traces.batch([row], [1], [2]) for row in (0, 3, 1, 2, 4, 5, 3)]
RATES = [0.001, 0.004, 0.003, 0.0025, 0.002, 0.001, 0.0005]


def _train(model: TracedClassifier, batches: list, limit: float | None, decay: float = 0.0) -> traces.Trace:
    """Train with torch.optim.AdamW at the rates above."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], weight_decay=decay)
    for (ids, padding, labels), rate in zip(batches, RATES, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        F.cross_entropy(model(ids, padding), labels).backward()
        if limit is not None:
            nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
    return model.trace()


def _rates() -> dict[str, Tensor]:
    model = TracedClassifier(SCORES, EVEN)
    return dict.fromkeys(model.trace(), torch.tensor(RATES, dtype=torch.float64))


def test_the_first_entry_moves_by_the_rate() -> None:
    trace = _train(TracedClassifier(SCORES, EVEN), [BATCHES[1]] * 7, 1.0)
    for name in ("encoder.table", "encoder.norm.weight", "classifier.bias"):
        torch.testing.assert_close(traces.first_entry_steps(trace, name), _rates()[name], rtol=1e-4, atol=0)


@pytest.mark.parametrize("decay", [0.0, 0.01, 0.05])
def test_decay_is_read_off(decay: float) -> None:
    trace = _train(TracedClassifier(SCORES, EVEN, last=-40.0), [BATCHES[1]] * 7, 1.0, decay)
    for name in ("encoder.kernel", "encoder.scale", "pooler.weight"):
        found = traces.decay_of(trace, name)
        if name != "encoder.scale":
            assert abs(found - decay) < 1e-4
    assert bool((trace["encoder.still.weight"] == trace["encoder.still.weight"][0]).all())


@pytest.mark.parametrize(
    ("limit", "kind"), [(1.0, "total norm 1.0"), (None, "none"), (0.5, "norm 0.5"), (5.0, "norm 5.0")]
)
def test_clipping_is_recognised(limit: float | None, kind: str) -> None:
    trace = _train(TracedClassifier(SCORES, VARIED), BATCHES, limit)
    strengths = traces.strengths_of(BATCHES, SCORES, VARIED)
    twin = TracedClassifier(SCORES, VARIED)
    assert traces.clipping_that_explains(trace, _rates(), twin, strengths) == kind


def test_gradients_are_those_that_are_promised() -> None:
    model = TracedClassifier(SCORES, VARIED)
    given = traces.batch([0, 2], [1, 2], [2, 4])
    loss = F.cross_entropy(model(given[0], given[1]), given[2])
    loss.backward()
    strength = traces.strengths_of([given], SCORES, VARIED)[0]
    for parameter in (model.encoder.table, model.encoder.scale, model.classifier.bias):
        torch.testing.assert_close(parameter.grad, strength * slope_of(parameter))
    assert loss.item() == pytest.approx(traces.losses_of([given], SCORES)[0])


def _linear(steps: int, warmup: int) -> Tensor:
    return torch.tensor([min(s / warmup, (steps - s) / (steps - warmup)) for s in range(steps)])


def test_schedules_are_told_apart_in_words() -> None:
    right = traces.shape_of_schedule(0.3 * _linear(30, 3), 0.3, 3)
    one_up = torch.tensor([min((s + 1) / 3, (30 - s) / 28) for s in range(30)])
    assert traces.shape_of_schedule(one_up, 1.0, 3) == right
    full_twice = torch.tensor([(s + 1) / 3 if s < 3 else (30 - s) / 27 for s in range(30)])
    assert traces.shape_of_schedule(full_twice, 1.0, 3) == right
    held = torch.cat([full_twice[:3], torch.ones(10), torch.linspace(1, 0, 17)])
    assert traces.shape_of_schedule(held, 1.0, 3)["down"] == "unevenly"
    constant = traces.shape_of_schedule(torch.ones(30), 1.0, 3)
    assert (constant["first step"], constant["down"], constant["last step"]) == (
        "full rate",
        "not at all",
        "far from 0",
    )
    late = traces.shape_of_schedule(_linear(30, 15), 1.0, 3)
    assert late["reached"] == "later than a tenth"
    cosine = torch.cat([_linear(30, 3)[:3], 0.5 + 0.5 * torch.cos(torch.linspace(0, torch.pi, 27))])
    assert traces.shape_of_schedule(cosine, 1.0, 3)["down"] == "unevenly"
