"""Weights that the visible checks of chapter 04 put into attention: drawn as inputs, and so that no score saturates."""

import torch
from torch import Tensor

from utils.probes import Numbers
from utils.student import HeldObject, Student

LAYERS = ("q_proj", "k_proj", "v_proj", "out_proj")
D_MODEL, HEADS = 18, 3


def draw_matrices(n: Numbers) -> Tensor:
    """Four square weights, small enough that no score saturates: (4, d_model, d_model)."""
    return n.normal(4, D_MODEL, D_MODEL) / D_MODEL**0.5


def draw_biases(n: Numbers) -> Tensor:
    """Draw four biases: (4, d_model)."""
    return n.normal(4, D_MODEL)


def state_of(w: Tensor, b: Tensor | None) -> dict[str, Tensor]:
    """Name the weights (4, d_model, d_model) and biases (4, d_model) after their layers."""
    weights = {f"{layer}.weight": matrix for layer, matrix in zip(LAYERS, w, strict=True)}
    return weights | ({} if b is None else {f"{layer}.bias": row for layer, row in zip(LAYERS, b, strict=True)})


def hosted(student: Student, w: Tensor, b: Tensor | None) -> HeldObject:
    """Build the course's own module with these weights, in eval mode, for exercises that take one."""
    return student.host("multi_head_attention", D_MODEL, HEADS, bias=b is not None).load(state_of(w, b)).eval()


def unchanged(module: HeldObject, state: dict[str, Tensor]) -> bool:
    """Observe whether a module's parameters are still these."""
    return all(torch.equal(value, state[name]) for name, value in module.parameters().items())
