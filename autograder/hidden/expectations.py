"""What hidden tests expect. A failure says what kind of thing is wrong, and never a number: inputs stay hidden."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from utils.differences import compared
from utils.execution import LearnerError


class Unmet(AssertionError):
    """An expectation of a hidden test that isn't met; the text is fit for learners."""


def expect(holds: bool, otherwise: str) -> None:
    """State what has to hold, and what a learner reads where it doesn't."""
    if not holds:
        raise Unmet(otherwise)


def a_tensor(value: Any, what: str = "the result") -> Tensor:
    """Expect a tensor on the CPU."""
    expect(isinstance(value, Tensor), f"not a tensor: {what}")
    expect(value.device.type == "cpu", f"on another device than the inputs: {what}")
    return value


def pair(value: Any, what: str = "two results") -> tuple[Any, Any]:
    """Expect a tuple (or list) of two."""
    expect(isinstance(value, (tuple, list)) and len(value) == 2, f"{what} should be returned")
    return value[0], value[1]


def close(
    found: Any, expected: Tensor, what: str = "the result", rtol: float | None = None, atol: float | None = None
) -> None:
    """Expect a tensor with this dtype, this shape and these numbers."""
    a_tensor(found, what)
    expect(found.shape == expected.shape, f"wrong shape: {what}")
    expect(found.dtype == expected.dtype, f"wrong dtype: {what}")
    if not expected.is_floating_point():
        expect(bool(torch.equal(found, expected)), f"wrong numbers: {what}")
        return
    tight = expected.dtype == torch.float64
    rtol = rtol if rtol is not None else (1e-8 if tight else 1e-4)
    atol = atol if atol is not None else (1e-9 if tight else 1e-5)
    if compared(found, expected, rtol, atol):
        return
    found, expected = found.detach(), expected.detach()
    if not expected.isnan().any():
        expect(not found.isnan().any(), f"NaN: {what}")
    expect(bool(torch.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)), f"wrong numbers: {what}")


def finite(found: Any, what: str = "the result") -> None:
    """Expect neither NaN nor infinity."""
    expect(bool(a_tensor(found, what).isfinite().all()), f"NaN or infinity: {what}")


def untouched(student: Any) -> None:
    """Expect that the last call changed none of its inputs in place."""
    expect(not student.changed, "the code writes into a tensor that it was given")


def gradients(found: Any, cotangent: Tensor, inputs: list[Tensor], what: str = "the result") -> list[Tensor]:
    """Send a gradient back through a result; expect that it arrives at every input."""
    a_tensor(found, what)
    expect(found.requires_grad, f"no gradient flows back through {what}")
    expect(found.shape == cotangent.shape, f"wrong shape: {what}")
    arrived = torch.autograd.grad(found, inputs, cotangent.to(found.dtype), allow_unused=True)
    expect(all(gradient is not None for gradient in arrived), f"the gradient of {what} doesn't reach every input")
    return list(arrived)


def refused(call: Callable[[], Any], error: str = "ValueError") -> None:
    """Expect that a call raises this error."""
    try:
        call()
    except LearnerError as raised:
        if error in raised.bases:
            return
        if "NotImplementedError" in raised.bases:
            raise
        raise Unmet(f"another error than {error} is raised") from None
    raise Unmet(f"{error} should be raised and isn't")
