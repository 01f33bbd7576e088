"""Find where two observations differ, and put a difference into words."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.probes import Observation, Probe


@dataclass(frozen=True)
class Difference:
    """Where what was found departs from what was expected, first in reading order."""

    kind: str
    label: str
    expected: Any
    found: Any


def shape_text(tensor: Tensor) -> str:
    """Write a shape as people read it: (2, 5, 7)."""
    return f"({', '.join(map(str, tensor.shape))}{',' if tensor.dim() == 1 else ''})"


def equal(expected: Any, found: Any, probe: Probe) -> bool:
    """Compare two observed values: dtype, shape and numbers of tensors (NaN equals NaN), plain values as they are."""
    if isinstance(expected, Tensor) and isinstance(found, Tensor):
        if expected.dtype != found.dtype or expected.shape != found.shape:
            return False
        if not expected.is_floating_point():
            return bool(torch.equal(expected, found))
        rtol, atol = tolerance(expected, probe)
        decided = compared(found, expected, rtol, atol)
        if decided is not None:
            return decided
        return bool(torch.allclose(found.double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True))
    if isinstance(expected, Tensor) or isinstance(found, Tensor):
        return False
    if isinstance(expected, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        same_nan = math.isnan(expected) and math.isnan(found)
        return same_nan or math.isclose(expected, found, rel_tol=probe.rtol, abs_tol=probe.atol)
    return type(expected) is type(found) and expected == found


def compared(found: Tensor, expected: Tensor, rtol: float, atol: float) -> bool | None:
    """Compare floating-point tensors of one shape as `torch.allclose` does, in a third of its time.

    None where that takes a closer look: for NaN, infinity, and what NumPy doesn't know. A wrong answer is compared with all
    recorded mistakes, so this runs a hundred times for one card.
    """
    if expected.dtype == torch.bfloat16 or found.layout is not torch.strided:
        return None
    mine = (found.resolve_neg() if found.is_neg() else found).detach().numpy()
    right = expected.detach().numpy()
    if mine.size and abs(mine.item(0) - right.item(0)) > atol + rtol * abs(right.item(0)):
        return False  # most recorded mistakes differ from what was found in the first number already
    allowed = np.abs(right, dtype=np.float64)
    allowed *= rtol
    allowed += atol
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.subtract(mine, right, dtype=np.float64))
    if np.count_nonzero(apart < allowed) == apart.size:
        return True
    return False if np.count_nonzero(apart > allowed) else None


def tolerance(expected: Tensor, probe: Probe) -> tuple[float, float]:
    """Give rtol and atol: the probe's for float32, far closer for float64, which shows lost precision."""
    if expected.dtype == torch.float64:
        return 1e-7, 1e-9
    return probe.rtol, probe.atol


def same_observation(expected: Observation, found: Observation, probe: Probe) -> bool:
    """Say whether two observations agree in every label."""
    return expected.keys() == found.keys() and all(equal(expected[key], found[key], probe) for key in expected)


def first_difference(expected: Observation, found: Observation, probe: Probe) -> Difference | None:
    """Find the first difference, the most telling kinds first; None where there is none."""
    if "raises" in found and "raises" not in expected:
        return Difference("raises", "raises", None, found["raises"])
    if "raises" in expected and expected.get("raises") != found.get("raises"):
        return Difference("should raise", "raises", expected["raises"], found.get("raises"))
    if expected.get("form") != found.get("form"):
        return Difference("form", "form", expected.get("form"), found.get("form"))
    for label, value in expected.items():
        if label not in found:
            return Difference("missing", label, value, None)
        if not equal(value, found[label], probe):
            return Difference(_kind(value, found[label], probe), label, value, found[label])
    for label in found:
        if label not in expected:
            return Difference("changed inputs" if label == "changed inputs" else "extra", label, None, found[label])
    return None


def _kind(expected: Any, found: Any, probe: Probe) -> str:
    if not isinstance(expected, Tensor):
        return "value"
    if found is None:
        return "nothing returned"
    if found == "no gradient arrives" if isinstance(found, str) else False:
        return "no gradient"
    if not isinstance(found, Tensor):
        return "not a tensor"
    if expected.shape != found.shape:
        return "shape"
    if expected.dtype != found.dtype:
        return "dtype"
    return "gradient" if "gradient" in probe.name else "values"


def as_text(value: Any) -> str:
    """Write an observed value in a few words."""
    if isinstance(value, Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.numel() == 1:
            return f"{value.item():.6g}" if value.is_floating_point() else str(value.item())
        return f"a {dtype} tensor of shape {shape_text(value)}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "nothing (None)" if value is None else str(value)
