"""Probes: what a visible check asks of an answer, and what it observes.

A probe runs a learner's function on fixed inputs and returns what came out. The right answer's observations, and those of
known mistakes, are recorded in `utils/fixtures` when the course is built; a check compares the learner's with them.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from utils.execution import LearnerError
from utils.student import HeldObject, Student

Observation = dict[str, Any]  # label → tensor, or a plain value


class Numbers:
    """Draws a probe's inputs; only used when fixtures are built."""

    def __init__(self, name: str) -> None:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Draw standard normal numbers."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def integers(self, high: int, *shape: int) -> Tensor:
        """Draw whole numbers from 0 to high − 1."""
        return torch.randint(high, shape, generator=self.generator)

    def booleans(self, *shape: int, share: float = 0.5) -> Tensor:
        """Draw True with the given share."""
        return torch.rand(shape, generator=self.generator) < share


@dataclass(frozen=True)
class Probe:
    """One property of an exercise: a sentence, fixed inputs, and a run that gives something to look at."""

    exercise: str
    name: str
    title: str
    run: Callable[..., Any]
    inputs: dict[str, Any]
    labels: tuple[str, ...] = ("result",)
    rtol: float = 1e-4
    atol: float = 1e-5
    axes: tuple[str, ...] = field(default=())

    def given(self) -> dict[str, Any]:
        """Draw the inputs; the same for the same probe, whatever else changes."""
        numbers = Numbers(f"{self.exercise}/{self.name}")
        return {name: draw(numbers) if callable(draw) else draw for name, draw in self.inputs.items()}


_probes: dict[str, list[Probe]] = {}


def probe(exercise: str, title: str, /, *, labels: tuple[str, ...] = ("result",), rtol: float = 1e-4,
          atol: float = 1e-5, axes: tuple[str, ...] = (), **inputs: Any) -> Callable:  # fmt: skip
    """Register a function `(student, **inputs)` as a probe; inputs are values, or functions of `Numbers`.

    `labels` names the parts of the result, `axes` the last two dimensions for pictures.
    """

    def register(function: Callable) -> Callable:
        made = Probe(exercise, function.__name__, title, function, inputs, labels, rtol, atol, axes)
        _probes.setdefault(exercise, []).append(made)
        return function

    return register


def probes_of(exercise: str) -> list[Probe]:
    """List the probes of an exercise, in the order in which a result card shows them."""
    from utils.checks import register_all

    register_all()
    return _probes.get(exercise, [])


def gradients(result: Any, *inputs: Tensor) -> dict[str, Any]:
    """Send a fixed gradient back through (the first tensor of) a result; observe what arrives at each input."""
    tensor = result[0] if isinstance(result, (tuple, list)) and result else result
    if not isinstance(tensor, Tensor) or not tensor.requires_grad:
        return {f"gradient {i}": "no gradient arrives" for i, _ in enumerate(inputs)}
    cotangent = torch.linspace(-1, 1, tensor.numel(), dtype=tensor.dtype).reshape(tensor.shape)
    arrived = torch.autograd.grad(tensor, inputs, cotangent, allow_unused=True)
    return {
        f"gradient {i}": "no gradient arrives" if gradient is None else gradient for i, gradient in enumerate(arrived)
    }


def error_of(call: Callable[[], Any]) -> str:
    """Observe which error a call raises ("ValueError" also for its subclasses), or "no error"."""
    try:
        call()
    except LearnerError as error:
        if error.type_name == "NotImplementedError":
            raise  # an unsolved stub
        return "ValueError" if "ValueError" in error.bases else error.type_name
    return "no error"


def observe(probe: Probe, student: Student, given: dict[str, Any]) -> tuple[Observation, LearnerError | None]:
    """Run a probe; give what was seen, and the error if the learner's code raised one."""
    student.changed = []
    try:
        result = probe.run(student, **given)
    except LearnerError as error:
        first_line = re.sub(r"\d+", "#", error.message.split("\n")[0])[:80]
        return {"raises": f"{error.type_name}: {first_line}"}, error
    except (TypeError, ValueError, AttributeError, IndexError, KeyError, RuntimeError) as error:
        # The probe itself stumbled over a result of the wrong kind: a tuple where a tensor belongs, say.
        return {"result": f"unusable ({type(error).__name__})"}, None
    observation: Observation = {}
    _collect(result, probe.labels, observation)
    if student.changed:
        observation["changed inputs"] = list(student.changed)
    return observation, None


def _collect(result: Any, labels: tuple[str, ...], into: Observation) -> None:
    if isinstance(result, dict):
        for key, value in result.items():
            _collect(value, (str(key),), into)
    elif isinstance(result, (tuple, list)):
        kind = type(result).__name__
        names = labels if len(labels) == len(result) else tuple(f"result {i}" for i in range(len(result)))
        if len(labels) != len(result) or kind == "list":
            into["form"] = f"a {kind} of {len(result)}"
        for name, value in zip(names, result, strict=True):
            _collect(value, (name,), into)
    else:
        if len(labels) > 1:
            into["form"] = "one value"
        into[labels[0]] = _plain(result)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return f"a tensor on {value.device}" if value.device.type != "cpu" else value.detach()
    if isinstance(value, HeldObject):
        return f"a {value.type_name}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
